"""Prefer nodes on which a task fits without waiting."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from pumice import NodeHandle, NodeView, Plugin, RequestFit, Task, hookimpl
from pumice.gpu import fits_idle

_SCORE = 100.0


class NodeAvailability(Plugin):
    """Score 100 where the task fits into what is idle now, without what is being released."""

    class Options(Plugin.Options):
        weight: float = Field(
            1.0, ge=0, description="What the score is multiplied by, against other plugins' scores."
        )

    @hookimpl
    def on_session_open(self) -> None:
        self._score: float = _SCORE * self.options.weight
        self._fits: dict[int, RequestFit] = {}
        """By class of tasks."""

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        if task.gpu.shared:
            return float(fits_idle(node.table, task, np.array([node.row]))[0] * self._score)
        if task.best_effort:
            return self._score
        return self._score if self._fit(task).fits(node.table.idle[node.row].tolist()) else 0.0

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        scores: np.ndarray = fits_idle(nodes.table, task, nodes.rows) * self._score
        return scores

    def _fit(self, task: Task) -> RequestFit:
        fit = self._fits.get(task.class_id)
        if fit is None:
            fit = RequestFit(task.vector, task.compared)
            if task.class_id >= 0:
                self._fits[task.class_id] = fit
        return fit
