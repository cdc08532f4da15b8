"""Place parts of GPUs on the emptiest GPU."""

from __future__ import annotations

from pumice import NodeView, Plugin, Task, hookimpl
from pumice.gpu import WHOLE_GPU
from pumice_builtin_plugins.gpu.usage import used_portion


class GpuSpread(Plugin):
    """Score a shared GPU by its free fraction, a whole free one by 1."""

    @hookimpl
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float:
        return 1.0 if gpu_group == WHOLE_GPU else 1.0 - used_portion(nodes.table, row, gpu_group)
