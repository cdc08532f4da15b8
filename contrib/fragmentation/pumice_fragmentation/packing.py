"""The placement policies with which the fragmentation paper compares its own.

Scores are whole numbers from 0 to 100: ties are many, and the first node by name wins them.
"""

from __future__ import annotations

from zlib import crc32

import numpy as np
from pydantic import Field

from pumice import NodeView, Plugin, Task, hookimpl
from pumice.gpu import GPU
from pumice_fragmentation.devices import WHOLE, DeviceColumns, GpuDemand

CPU = 0
"""The column of CPU in the node table."""


class RandomNode(Plugin):
    """Take any node that fits, and any device of it, with the same probability."""

    class Options(Plugin.Options):
        seed: int = Field(0, ge=0, alias="random.seed", description="Seed of the choices.")

    @hookimpl
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        # By the task, so that the answer does not depend on how often it is asked for.
        chance = np.random.default_rng((self.options.seed, crc32(task.uid.encode())))
        return nodes.take(chance.random(len(nodes.table)))

    @hookimpl
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float:
        text = f"{self.options.seed} {task.uid} {gpu_group}"
        return crc32(text.encode()) / (1 << 32)


class DevicePlugin(Plugin):
    """Base of the policies that look at the free part of every GPU."""

    @hookimpl
    def on_session_open(self) -> None:
        self.devices = DeviceColumns(self.session.nodes)

    @hookimpl
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float:
        """The fullest device that the share fits into."""
        return float(WHOLE - self.devices.free_part(row, gpu_group))

    def current_devices(self) -> DeviceColumns:
        """The devices of all nodes as they are now."""
        self.devices.refresh()
        return self.devices


class LargestNode(DevicePlugin):
    """Base of the policies that measure a node by the largest one."""

    @hookimpl
    def on_session_open(self) -> None:
        super().on_session_open()
        nodes = self.session.nodes
        gpu = nodes.dimensions.position.get(GPU)
        self.most_cpu = max(int(nodes.allocatable[:, CPU].max(initial=0)), 1)
        self.most_gpu = max(
            0 if gpu is None else int(nodes.allocatable[:, gpu].max(initial=0)), WHOLE
        )


class DotProd(LargestNode):
    """Prefer the node whose free CPU and GPUs have the smallest dot product with the request."""

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        gpu = nodes.take(self.current_devices().total)
        product = (nodes.idle[:, CPU] / self.most_cpu) * (task.vector[CPU] / self.most_cpu)
        product += (gpu / self.most_gpu) * (self.devices.demand(task).total / self.most_gpu)
        scores: np.ndarray = np.trunc(100 * (1 - product / 2))
        return scores


class BestFit(LargestNode):
    """Prefer the node that has the least CPU and GPUs left after the task, each weighing half."""

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        gpu = nodes.take(self.current_devices().total)
        left = 0.5 * (nodes.idle[:, CPU] - task.vector[CPU]) / self.most_cpu
        left = left + 0.5 * (gpu - self.devices.demand(task).total) / self.most_gpu
        scores: np.ndarray = np.trunc(100 * (1 - left))
        return scores


class GpuPacking(DevicePlugin):
    """Fill shared GPUs first, then nodes in use, then idle nodes, those with few GPUs first."""

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        demand = self.devices.demand(task)
        if not demand.devices:
            return None
        devices = self.current_devices()
        count, free = nodes.take(devices.count), nodes.take(devices.free)
        scores = np.full(len(nodes), float(max(50 - demand.devices, 33)))
        if demand.milli < WHOLE:
            scores = _shared_scores(demand, free)
        idle = nodes.take(devices.total) == WHOLE * count
        return np.where(idle, np.maximum(33 - count, count), scores)


def _shared_scores(demand: GpuDemand, free: np.ndarray) -> np.ndarray:
    """How well a share fits the fullest device that takes it; 49 for a whole device."""
    fullest = np.where(free >= demand.milli, free, 2 * WHOLE).min(axis=1, initial=2 * WHOLE)
    part = np.maximum(100 - fullest * 100 // WHOLE // 10, 50)
    return np.where(fullest < WHOLE, part, 49).astype(float)


class GpuClustering(DevicePlugin):
    """Put tasks with the same number of GPUs together, shares of GPUs apart from whole ones."""

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        demand = self.devices.demand(task)
        if not demand.devices:
            return None
        most = WHOLE * self.devices.free.shape[1]
        used = 25 * (most - nodes.take(self.current_devices().total)) // most
        kinds = [self._kind_score(row, demand.kind) for row in nodes.rows.tolist()]
        return (used + np.array(kinds, np.int64)).astype(float)

    def _kind_score(self, row: int, kind: str) -> int:
        kinds = {
            self.devices.demand(held.task).kind for held in self.session.nodes.held[row].values()
        } - {""}
        if not kinds:
            return 25
        if kind not in kinds:
            return 0
        return 75 if len(kinds) == 1 else 50
