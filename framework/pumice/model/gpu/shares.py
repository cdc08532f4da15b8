"""Shared GPUs: the groups of pods that share one device of a node."""

from __future__ import annotations

import math

from pumice.model.facts import Node
from pumice.model.gpu.request import GPU, GpuRequest, as_int
from pumice.model.task import TaskStatus

WHOLE_GPU = ""
"""Stands for "a whole free GPU" where the id of a sharing group is expected."""
_UNSYNCED_MEMORY = 100


class GpuShares:
    """The shared devices of one node: memory by group of pods, in MiB.

    :meth:`add` and :meth:`remove` answer how the node's idle and releasing whole GPUs change.
    """

    __slots__ = (
        "_fitting",
        "allocated",
        "gpu_count",
        "marked",
        "memory_per_gpu",
        "releasing",
        "synced",
        "used",
    )

    def __init__(self, node: Node) -> None:
        self.memory_per_gpu, self.synced = gpu_memory(node)
        """MiB of each GPU, and whether the node reports it."""
        labelled = labelled_gpu_count(node)
        self.gpu_count = int(node.allocatable.get(GPU)) // 1000 if labelled is None else labelled
        """How many GPUs the node has."""
        self.used: dict[str, int] = {}
        """Group → MiB of tasks that are on it, come to it or leave it."""
        self.allocated: dict[str, int] = {}
        """Group → MiB of tasks that are on it or leave it."""
        self.releasing: dict[str, int] = {}
        """Group → MiB of tasks that leave it, without what pipelined tasks will take."""
        self.marked: set[str] = set()
        """Groups whose device counts as a releasing whole GPU."""
        self._fitting: dict[int, tuple[str, ...]] = {}
        """By what is needed of a device: the groups that have as much."""

    def add(
        self, group: str, memory: int, status: TaskStatus, idle: int, whole_used: int
    ) -> tuple[int, int]:
        """Put one device's worth of a pod into a group; (idle, releasing) GPUs gained."""
        self._fitting.clear()
        used = self._change(self.used, group, memory)
        d_idle = d_releasing = 0
        if status is TaskStatus.RELEASING:
            releasing = self._change(self.releasing, group, memory)
            self._change(self.allocated, group, memory)
            if used == releasing:
                if group not in self.marked:
                    self.marked.add(group)
                    d_releasing = 1
                if self._overcounted(idle, whole_used):
                    d_idle = -1
        elif status is TaskStatus.PIPELINED:
            releasing = self._change(self.releasing, group, -memory)
            if used - memory == releasing + memory:
                d_releasing = -1
        else:
            self._change(self.allocated, group, memory)
            if used <= memory and self._overcounted(idle, whole_used):
                d_idle = -1
            if group in self.marked:
                self.marked.discard(group)
                d_releasing = -1
        return d_idle, d_releasing

    def remove(
        self, group: str, memory: int, status: TaskStatus, idle: int, whole_used: int
    ) -> tuple[int, int]:
        """Take one device's worth of a pod out of a group; (idle, releasing) GPUs gained."""
        self._fitting.clear()
        used = self._change(self.used, group, -memory)
        d_idle = d_releasing = 0
        if status is TaskStatus.PIPELINED:
            if used == self._change(self.releasing, group, memory):
                d_releasing = 1
            return d_idle, d_releasing
        self._change(self.allocated, group, -memory)
        if status is TaskStatus.RELEASING:
            self._change(self.releasing, group, -memory)
        freed = used <= 0
        if freed and not self._overcounted(idle, whole_used):
            d_idle = 1
        if status is TaskStatus.RELEASING:
            if freed and group in self.marked:
                self.marked.discard(group)
                d_releasing = -1
        elif not freed and used == self.releasing.get(group, 0) and group not in self.marked:
            self.marked.add(group)
            d_releasing = 1
        return d_idle, d_releasing

    def _overcounted(self, idle: int, whole_used: int) -> bool:
        """Whether idle, whole and shared GPUs add up to more than the node has."""
        return self.gpu_count < idle + whole_used + self.groups_in_use

    @property
    def groups_in_use(self) -> int:
        """How many devices are shared."""
        return sum(1 for memory in self.used.values() if memory > 0)

    @staticmethod
    def _change(table: dict[str, int], group: str, memory: int) -> int:
        value = table.get(group, 0) + memory
        if value:
            table[group] = value
        else:
            table.pop(group, None)
        return value

    # -- where a request fits

    def _has_room(self, group: str, needed: int) -> bool:
        """Whether so much fits into a group once what leaves it is gone.

        A device whose pods are all releasing will be a whole one again, so its group takes no pod.
        """
        allocated, releasing = self.allocated.get(group, 0), self.releasing.get(group, 0)
        return self.memory_per_gpu - allocated + releasing >= needed and allocated != releasing

    def fits_group_now(self, request: GpuRequest, group: str) -> bool:
        """Whether the share fits into a group as it is."""
        if group not in self.allocated:
            return False
        needed = request.device_memory(self.memory_per_gpu)
        return self.memory_per_gpu - self.allocated[group] >= needed

    def fitting_groups(self, request: GpuRequest) -> tuple[str, ...]:
        """The groups into which a device's share fits, by name."""
        needed = request.device_memory(self.memory_per_gpu)
        groups = self._fitting.get(needed)
        if groups is None:
            groups = tuple(group for group in sorted(self.used) if self._has_room(group, needed))
            self._fitting[needed] = groups
        return groups

    def idle_parts(self) -> float:
        """Sum of the idle parts of shared devices, in GPUs."""
        # Groups come in any order, and the sum is to be the same in each.
        return math.fsum(
            1 - math.ceil(100 * memory / self.memory_per_gpu) / 100
            for memory in self.allocated.values()
            if memory > 0
        )

    def releasing_parts(self) -> float:
        """Sum of what leaves shared devices that stay shared, in GPUs."""
        return math.fsum(
            math.ceil(100 * memory / self.memory_per_gpu) / 100
            for group, memory in self.releasing.items()
            if memory > 0 and group not in self.marked
        )


def labelled_gpu_count(node: Node) -> int | None:
    """The number of GPUs in the node's label."""
    label = node.labels.get("nvidia.com/gpu.count", "")
    return int(label) if label.isdecimal() else None


def gpu_memory(node: Node) -> tuple[int, bool]:
    """MiB of each GPU of a node, and whether its label states it."""
    memory = as_int(node.labels.get("nvidia.com/gpu.memory"))
    if memory <= 0:
        return _UNSYNCED_MEMORY, False
    if memory >= 1 << 20:
        memory >>= 20
    return memory - memory % 100, True
