"""Prefer nodes that have the room now."""

from __future__ import annotations

import numpy as np

from pumice import NodeHandle, NodeView, Plugin, Task, hookimpl
from pumice.gpu import fits_idle

_SCORE = 100.0


class NodeAvailability(Plugin):
    """Score 100 where a task need not wait for anybody to leave."""

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        return fits_idle(nodes.table, task, nodes.rows) * _SCORE

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        if task.gpu.shared:
            return float(fits_idle(node.table, task, np.array([node.row]))[0] * _SCORE)
        if task.best_effort:
            return _SCORE
        idle = node.table.idle[node.row].tolist()
        for dimension, amount in enumerate(task.vector.tolist()):
            if amount > idle[dimension] and (amount > 0 or dimension in task.compared):
                return 0.0
        return _SCORE
