"""Pack nodes or spread over them, by GPUs for tasks that need some and by CPU for others."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Literal, NamedTuple

import numpy as np
from pydantic import Field

from pumice import Node, NodeHandle, NodeView, Plugin, Scope, Task, hookimpl
from pumice.gpu import GPU, labelled_gpu_count
from pumice_builtin_plugins.gpu.nodes import wants_gpus
from pumice_builtin_plugins.nodeplacement.free_range import FreeRange

PlacementStrategy = Literal["binpack", "spread"]
_MAX_SCORE = 9.0
_CPU = 0


class _Placement(NamedTuple):
    """How tasks of one class are placed."""

    resource: int | None
    """The dimension that counts; None: the cluster has no GPUs."""
    strategy: PlacementStrategy


class NodePlacement(Plugin):
    """Score nodes by the future idle amount of one resource: GPUs, else CPU.

    ``binpack`` gives 9 to the fullest of the nodes in question and 0 to the emptiest, ``spread``
    the free fraction, 0 to 1. Whole GPUs count, parts of shared ones do not.
    """

    class Options(Plugin.Options):
        gpu: PlacementStrategy = Field(
            "binpack", description="How tasks that need GPUs are placed."
        )
        cpu: PlacementStrategy = Field("binpack", description="How all other tasks are placed.")

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        nodes = self.session.nodes
        self._gpu = nodes.dimensions.position.get(GPU)
        self._ranges: dict[int, FreeRange] = {}
        self._placements: dict[int, _Placement] = {}
        """By class of tasks."""
        self._gpu_counts = np.zeros(len(nodes))
        if self._gpu is not None:
            self._gpu_counts[:] = nodes.allocatable[:, self._gpu] / 1000
            labelled = nodes.fact_column("gpu count label", _labelled_gpus, float, lasting=True)
            np.copyto(self._gpu_counts, labelled, where=~np.isnan(labelled))

    def span(self, task: Task) -> Hashable:
        """The least and the most that is free, on which binpack scores depend."""
        resource, _ = self._placement(task)
        return None if resource is None else self._range(resource).least_and_most()

    def _scope(self, task: Task) -> Scope:
        return "row" if self._placement(task).strategy == "spread" else "span"

    @hookimpl(scope=_scope)
    def node_order(self, task: Task, node: NodeHandle) -> float:
        resource, strategy = self._placement(task)
        if resource is None:
            return 0.0
        free = float(node.table.future_idle.item(node.row, resource))
        allocatable = node.table.allocatable.item(node.row, resource)
        if strategy == "binpack":
            least, most = self._range(resource).least_and_most()
            if allocatable <= 0 or most == 0:
                return 0.0
            if least == most:
                return _MAX_SCORE
            return _MAX_SCORE * (1 - (free - least) / (most - least))
        if resource == _CPU:
            return free / allocatable if allocatable else 0.0
        count = self._gpu_counts.item(node.row)
        return free / 1000 / count if count else 0.0

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        resource, strategy = self._placement(task)
        if resource is None:
            return None
        free = nodes.take(nodes.table.future_idle[:, resource]).astype(np.float64)
        allocatable = nodes.take(nodes.table.allocatable[:, resource])
        if strategy == "binpack":
            return _binpack(free, allocatable > 0)
        if resource == _CPU:
            return _fraction(free, allocatable)
        return _fraction(free / 1000, nodes.take(self._gpu_counts))

    # -- helpers

    def _placement(self, task: Task) -> _Placement:
        placement = self._placements.get(task.class_id)
        if placement is None:
            placement = _Placement(_CPU, self.options.cpu)
            if wants_gpus(task, self.session.nodes):
                placement = _Placement(self._gpu, self.options.gpu)
            if task.class_id >= 0:
                self._placements[task.class_id] = placement
        return placement

    def _range(self, resource: int) -> FreeRange:
        free_range = self._ranges.get(resource)
        if free_range is None:
            free_range = self._ranges[resource] = FreeRange(self.session.nodes, resource)
        return free_range


def _labelled_gpus(node: Node) -> float:
    """The number of GPUs in the node's label; NaN: it has none."""
    count = labelled_gpu_count(node)
    return math.nan if count is None else count


def _binpack(free: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """9 for the least that is free among the nodes that count, 0 for the most."""
    number = np.count_nonzero(counts)
    if not number:
        return None
    among = free if number == len(free) else free[counts]
    least, most = among.min(), among.max()
    if most == 0:
        return None
    if least == most:
        return counts * _MAX_SCORE
    scores: np.ndarray = _MAX_SCORE * (1 - (free - least) / (most - least))
    if number < len(free):
        scores[~counts] = 0.0
    return scores


def _fraction(free: np.ndarray, size: np.ndarray) -> np.ndarray:
    fraction: np.ndarray = np.divide(free, size, out=np.zeros(len(free)), where=size != 0)
    return fraction
