"""Follow the nomination in a pod's status."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pumice import NodeView, Plugin, Task, hookimpl

_SCORE = 1_000_000.0


class NominatedNode(Plugin):
    """Score a million for the node that a pod is nominated for: it outweighs everything else.

    A nominated node on which the task must wait wins over one where it need not.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"nominated_node"})

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        row = nodes.table.row_of.get(task.nominated_node)
        return None if row is None else (nodes.rows == row) * _SCORE
