"""GPUs of all nodes as columns: how much of each device is free."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pumice import NodeTable, RowCursor, Task
from pumice.gpu import GPU, WHOLE_GPU, gpu_memory

WHOLE = 1000
"""A whole GPU, in thousandths."""


class GpuDemand(NamedTuple):
    """What a task takes of GPUs."""

    devices: int
    """How many devices; 0: none."""
    milli: int
    """Thousandths of each device; less than 1000 for a shared one."""

    @property
    def total(self) -> int:
        """Thousandths of a GPU altogether."""
        return self.devices * self.milli

    @property
    def kind(self) -> str:
        """Empty without GPUs, ``share``, or the number of whole GPUs."""
        if not self.devices:
            return ""
        return "share" if self.milli < WHOLE else str(self.devices)


NO_GPU = GpuDemand(0, 0)


class DeviceColumns:
    """Free thousandths of every GPU, a row for each node; refreshed for changed nodes only."""

    def __init__(self, nodes: NodeTable) -> None:
        self._nodes = nodes
        self._gpu = nodes.dimensions.position.get(GPU)
        self._cursor = RowCursor(nodes)
        counts = (
            np.zeros(len(nodes), np.int64)
            if self._gpu is None
            else nodes.allocatable[:, self._gpu] // WHOLE
        )
        self.count = counts
        """How many GPUs each node has."""
        self._memory = min(
            (gpu_memory(node)[0] for node, count in zip(nodes.facts, counts, strict=True) if count),
            default=1,
        )
        """MiB of the smallest GPU of the cluster."""
        self.free = np.zeros((len(nodes), int(counts.max(initial=0))), np.int64)
        """Free thousandths of each device in ascending order, with zeros in front."""
        self.total = np.zeros(len(nodes), np.int64)
        """Free thousandths of all devices of a node."""
        self.states: list[tuple[int, ...]] = [()] * len(nodes)
        """The devices of each node that are not used up, in ascending order."""

    def demand(self, task: Task) -> GpuDemand:
        """The GPUs that a task takes; memory counts as a part of the cluster's smallest GPU."""
        gpu = task.gpu
        if gpu.kind == "fraction":
            return GpuDemand(gpu.devices, round(gpu.portion * WHOLE))
        if gpu.kind == "memory":
            return GpuDemand(gpu.devices, min(-(-WHOLE * gpu.memory // self._memory), WHOLE))
        return GpuDemand(gpu.devices, WHOLE) if gpu.devices else NO_GPU

    def refresh(self) -> None:
        """Bring the columns up to date with the node table."""
        if self._gpu is None or self._cursor.is_current:
            return
        for row in self._cursor.changed_rows():
            self._refresh_row(row, self._gpu)

    def _refresh_row(self, row: int, gpu: int) -> None:
        nodes = self._nodes
        free = [WHOLE] * max(int(nodes.idle[row, gpu]) // WHOLE, 0)
        if row in nodes.sharing:
            shares = nodes.shares(row)
            memory = shares.memory_per_gpu
            parts = (WHOLE * (memory - used) // memory for used in shares.used.values())
            free = sorted(part for part in parts if part > 0) + free
        self.states[row] = tuple(free)
        self.total[row] = sum(free)
        width = self.free.shape[1]
        self.free[row] = 0
        if free:
            self.free[row, width - len(free) :] = free

    def free_part(self, row: int, gpu_group: str) -> int:
        """Free thousandths of a device by its group; of a whole one for ``WHOLE_GPU``."""
        if gpu_group == WHOLE_GPU:
            return WHOLE
        shares = self._nodes.shares(row)
        memory = shares.memory_per_gpu
        return WHOLE * (memory - shares.used.get(gpu_group, 0)) // memory
