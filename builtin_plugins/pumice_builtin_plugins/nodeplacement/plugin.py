"""Pack nodes or spread over them, by GPUs for tasks that need some and by CPU for others."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Literal

import numpy as np
from pydantic import Field

from pumice import Node, NodeHandle, NodeView, Plugin, Scope, Task, hookimpl
from pumice.gpu import GPU, labelled_gpu_count
from pumice_builtin_plugins.gpu.nodes import wants_gpus
from pumice_builtin_plugins.nodeplacement.free_range import FreeRange

Strategy = Literal["binpack", "spread"]
_MOST = 9.0
_CPU = 0


class NodePlacement(Plugin):
    """Score nodes by how much of one resource is free, or will be.

    Packing gives 9 to the fullest of the nodes in question and 0 to the emptiest, spreading the
    free part, 0 to 1. Whole GPUs count, parts of shared ones do not.
    """

    class Options(Plugin.Options):
        gpu: Strategy = Field("binpack", description="How tasks that need GPUs are placed.")
        cpu: Strategy = Field("binpack", description="How all other tasks are placed.")

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        nodes = self.session.nodes
        self._gpu = nodes.dimensions.position.get(GPU)
        self._spans: dict[int, FreeRange] = {}
        self._gpu_counts = np.zeros(len(nodes))
        if self._gpu is not None:
            self._gpu_counts[:] = nodes.allocatable[:, self._gpu] / 1000
            told = nodes.fact_column("gpus told", _told_gpus, float, lasting=True)
            np.copyto(self._gpu_counts, told, where=~np.isnan(told))

    def _resource(self, task: Task) -> int | None:
        return self._gpu if wants_gpus(task, self.session.nodes) else _CPU

    def _strategy(self, task: Task) -> Strategy:
        wants = wants_gpus(task, self.session.nodes)
        return self.options.gpu if wants else self.options.cpu

    def _reach(self, task: Task) -> Scope:
        return "row" if self._strategy(task) == "spread" else "span"

    def span(self, task: Task) -> Hashable:
        """The least and the most that is free."""
        resource = self._resource(task)
        return None if resource is None else self._free(resource).least_and_most()

    def _free(self, resource: int) -> FreeRange:
        found = self._spans.get(resource)
        if found is None:
            found = self._spans[resource] = FreeRange(self.session.nodes, resource)
        return found

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        resource = self._resource(task)
        if resource is None:
            return None
        free = nodes.take(nodes.table.future_idle[:, resource]).astype(np.float64)
        room = nodes.take(nodes.table.allocatable[:, resource])
        if self._strategy(task) == "binpack":
            return _packed(free, room > 0)
        if resource == _CPU:
            return _part(free, room)
        return _part(free / 1000, nodes.take(self._gpu_counts))

    @hookimpl(scope=_reach)
    def node_order(self, task: Task, node: NodeHandle) -> float:
        resource = self._resource(task)
        if resource is None:
            return 0.0
        free = float(node.table.future_idle.item(node.row, resource))
        room = node.table.allocatable.item(node.row, resource)
        if self._strategy(task) == "binpack":
            least, most = self._free(resource).least_and_most()
            if room <= 0 or most == 0:
                return 0.0
            return _MOST if least == most else _MOST * (1 - (free - least) / (most - least))
        if resource == _CPU:
            return free / room if room else 0.0
        count = self._gpu_counts.item(node.row)
        return free / 1000 / count if count else 0.0


def _told_gpus(node: Node) -> float:
    told = labelled_gpu_count(node)
    return math.nan if told is None else told


def _packed(free: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """9 for the least that is free among the nodes that count, 0 for the most."""
    if not counts.any():
        return None
    least, most = free[counts].min(), free[counts].max()
    if most == 0:
        return None
    if least == most:
        return counts * _MOST
    return np.where(counts, _MOST * (1 - (free - least) / (most - least)), 0.0)


def _part(free: np.ndarray, count: np.ndarray) -> np.ndarray:
    part: np.ndarray = np.divide(free, count, out=np.zeros(len(free)), where=count != 0)
    return part
