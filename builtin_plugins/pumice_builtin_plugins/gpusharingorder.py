"""Prefer nodes where the task fits on a GPU that is shared already."""

from __future__ import annotations

import numpy as np

from pumice import NodeHandle, NodeView, Plugin, Task, hookimpl

_SCORE = 1000.0


class GpuSharingOrder(Plugin):
    """Score 1000 where the task fits on a GPU that is shared already.

    As in KAI, a task without a GPU request fits on any of them and scores there, too.
    """

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        table = nodes.table
        if not table.sharing:
            return None
        fits = [
            row in table.sharing and bool(table.shares(row).fitting_groups(task.gpu))
            for row in nodes.rows.tolist()
        ]
        return np.array(fits, bool) * _SCORE

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        table, row = node.table, node.row
        fits = row in table.sharing and table.shares(row).fitting_groups(task.gpu)
        return _SCORE if fits else 0.0
