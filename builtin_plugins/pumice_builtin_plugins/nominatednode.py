"""Place a pod on the node that its status nominates."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from pumice import NodeView, Plugin, Task, hookimpl

_SCORE = 1_000_000.0


class NominatedNode(Plugin):
    """Score 1 000 000 for the nominated node of a pod: more than all other scores together.

    As in KAI it wins even if the task has to wait there and would fit elsewhere at once.
    """

    reads: ClassVar[frozenset[str]] = frozenset({"nominated_node"})

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        row = nodes.table.row_of.get(task.nominated_node)
        return None if row is None else (nodes.rows == row) * _SCORE
