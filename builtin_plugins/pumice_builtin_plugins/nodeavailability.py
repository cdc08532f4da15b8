"""Prefer nodes on which a task fits without waiting."""

from __future__ import annotations

import numpy as np

from pumice import NodeHandle, NodeView, Plugin, RequestFit, Task, hookimpl
from pumice.gpu import fits_idle

_SCORE = 100.0


class NodeAvailability(Plugin):
    """Score 100 where the task fits into what is idle now, without what is being released."""

    @hookimpl
    def on_session_open(self) -> None:
        self._fits: dict[tuple[bytes, tuple[int, ...]], RequestFit] = {}

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        if task.gpu.shared:
            return float(fits_idle(node.table, task, np.array([node.row]))[0] * _SCORE)
        if task.best_effort:
            return _SCORE
        return _SCORE if self._fit(task).fits(node.table.idle[node.row].tolist()) else 0.0

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        return fits_idle(nodes.table, task, nodes.rows) * _SCORE

    def _fit(self, task: Task) -> RequestFit:
        key = (task.vector.tobytes(), task.compared)
        fit = self._fits.get(key)
        if fit is None:
            fit = self._fits[key] = RequestFit(task.vector, task.compared)
        return fit
