"""Prefer nodes that have the room now."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pumice import Plugin, hookimpl
from pumice.model.nodes import NodeView
from pumice.model.task import Task
from pumice.session.room import fits_idle

_SCORE = 100.0


class NodeAvailability(Plugin):
    """Score 100 where a task need not wait for anybody to leave."""

    def class_key(self, task: Task) -> Hashable:
        """Parts of GPUs are not told by the request's quantities."""
        return task.gpu, task.best_effort

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        return fits_idle(nodes.table, task, nodes.rows) * _SCORE
