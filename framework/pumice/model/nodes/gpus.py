"""Shared GPUs in the node table: which groups of pods share devices, and what stays whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.gpu.request import GPU
from pumice.model.gpu.shares import GpuShares
from pumice.model.nodes.columns import NodeColumns
from pumice.model.task import Task, TaskStatus

DeviceCounts = tuple[int, int, int, frozenset[str]]
"""Idle, releasing and future idle whole GPUs, and the groups whose device is releasing."""


class NodeTask:
    """A task on a node, with the status and the GPU groups under which the node counts it."""

    __slots__ = ("groups", "status", "task")

    def __init__(self, task: Task, status: TaskStatus) -> None:
        self.task = task
        """The task."""
        self.status = status
        """The status that the node's columns count it under."""
        self.groups = task.gpu_groups
        """The GPU groups that the node's columns count it under."""


class GpuColumns(NodeColumns):
    """The columns of whole GPUs, updated with the groups that share devices."""

    def __init__(self, nodes: Iterable[Node], dimensions: Dimensions) -> None:
        super().__init__(nodes, dimensions)
        self._shares: dict[int, GpuShares] = {}
        self.sharing: set[int] = set()
        """Rows of the nodes on which GPUs are shared."""

    def shares(self, row: int) -> GpuShares:
        """The shared GPUs of a node."""
        shares = self._shares.get(row)
        if shares is None:
            shares = self._shares[row] = GpuShares(self.facts[row])
        return shares

    @property
    def sharing_rows(self) -> list[int]:
        """Rows of the nodes on which GPUs are shared, ascending."""
        return sorted(self.sharing)

    def _share(self, row: int, entry: NodeTask, sign: int) -> None:
        """Count a task on its GPU groups; whole GPUs become shared ones and come back."""
        shares, gpu = self.shares(row), self.dimensions.position[GPU]
        memory = entry.task.gpu.device_memory(shares.memory_per_gpu)
        change = shares.add if sign > 0 else shares.remove
        for group in entry.groups:
            idle = int(self.idle[row, gpu] / 1000)
            whole = int((self.used[row, gpu] + self.pipelined[row, gpu]) / 1000)
            d_idle, d_releasing = change(group, memory, entry.status, idle, whole)
            self.idle[row, gpu] += d_idle * 1000
            self.releasing[row, gpu] += d_releasing * 1000
            self.future_idle[row, gpu] += (d_idle + d_releasing) * 1000
        if shares.used:
            self.sharing.add(row)
        else:
            self.sharing.discard(row)

    def device_counts(self, row: int) -> DeviceCounts:
        """How the node counts its GPUs now, for :meth:`restore_device_counts`."""
        gpu = self.dimensions.position[GPU]
        counts = (column[row, gpu].item() for column in self._gpu_columns())
        idle, releasing, future_idle = counts
        return idle, releasing, future_idle, frozenset(self.shares(row).marked)

    def restore_device_counts(self, row: int, before: DeviceCounts) -> None:
        """Count the node's GPUs as before, after its tasks have been restored.

        Whether a device counts as whole depends on the order in which tasks came to share it, so
        that adding a task and removing it again may end in other counts.
        """
        gpu = self.dimensions.position[GPU]
        *counts, marked = before
        for column, count in zip(self._gpu_columns(), counts, strict=True):
            column[row, gpu] = count
        self.shares(row).marked = set(marked)
        self.touch(row)

    def _gpu_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.idle, self.releasing, self.future_idle

    def _move_shares(self, new_row: Mapping[int, int]) -> None:
        """Rows have other numbers; those that are not in ``new_row`` are gone."""
        self._shares = {new_row[row]: s for row, s in self._shares.items() if row in new_row}
        self.sharing = {new_row[row] for row in self.sharing if row in new_row}

    def forget_shares(self, row: int) -> None:
        """No GPU of a node is shared any more."""
        self._shares.pop(row, None)
        self.sharing.discard(row)
