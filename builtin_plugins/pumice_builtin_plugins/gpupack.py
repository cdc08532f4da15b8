"""Fill shared GPUs before free ones are opened for sharing."""

from __future__ import annotations

from pumice import NodeView, Plugin, Task, hookimpl
from pumice.gpu import WHOLE_GPU
from pumice_builtin_plugins.gpu.usage import used_portion


class GpuPack(Plugin):
    """Score a shared GPU by its used fraction, a whole free one by 0."""

    @hookimpl
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float:
        return 0.0 if gpu_group == WHOLE_GPU else used_portion(nodes.table, row, gpu_group)
