"""Prefer nodes without GPUs for tasks that need none."""

from __future__ import annotations

import numpy as np

from pumice import NodeView, Plugin, Task, hookimpl
from pumice_builtin_plugins.gpu.nodes import wants_gpus, without_gpus

_SCORE = 10.0


class ResourceType(Plugin):
    """Score 10 for nodes without any GPU when a task requests none."""

    @hookimpl
    def on_session_open(self) -> None:
        self._scores = without_gpus(self.session.nodes) * _SCORE

    @hookimpl(scope="static")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        return None if wants_gpus(task, nodes.table) else nodes.take(self._scores)
