"""Fragmentation gradient descent: place a task where fragmentation grows least."""

from __future__ import annotations

from math import exp

import numpy as np
from pydantic import Field

from pumice import Node, NodeHandle, NodeView, Plugin, Pod, Task, hookimpl
from pumice_fragmentation.devices import WHOLE, GpuDemand
from pumice_fragmentation.fragments import Fragmentation, PodShape, TypicalPod, typical_pods
from pumice_fragmentation.packing import CPU, DevicePlugin


class Fgd(DevicePlugin):
    """Prefer the node, and its device, whose fragmentation grows least or shrinks most.

    Fragmentation is the expected part of a node's free GPUs that a pod, drawn from the typical
    ones, could not use.
    """

    class Options(Plugin.Options):
        label: str = Field(
            "nvidia.com/gpu.product",
            alias="fgd.label",
            description="The label with the GPU model of a node.",
        )
        typical: tuple[TypicalPod, ...] = Field(
            (),
            alias="fgd.typical",
            description="The usual pods, each with its shape and its part of all; without any, "
            "those of the cluster.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        super().on_session_open()
        label = self.options.label
        tasks = self.session.cluster.tasks.values()
        typical = self.options.typical or typical_pods(self._shape(task) for task in tasks)
        self._fragmentation = Fragmentation(typical)
        self._models = self.session.nodes.fact_column(
            ("fgd model", label), lambda node: _model(node, label), object
        )
        self._known: dict[tuple[object, ...], int] = {}

    def _shape(self, task: Task) -> PodShape:
        demand = self.devices.demand(task)
        models = allowed_models(task.pod, self.options.label) if demand.devices else ""
        return PodShape(int(task.vector[CPU]), demand.milli, demand.devices, models)

    @hookimpl(scope="row")
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray:
        demand = self.current_devices().demand(task)
        cpu, free = int(task.vector[CPU]), nodes.idle[:, CPU].tolist()
        rows = nodes.rows.tolist()
        scores = [self._score(r, c, cpu, demand) for r, c in zip(rows, free, strict=True)]
        return np.array(scores, np.float64)

    @hookimpl(scope="row")
    def node_order(self, task: Task, node: NodeHandle) -> float:
        demand = self.current_devices().demand(task)
        free = int(node.table.idle[node.row, CPU])
        return float(self._score(node.row, free, int(task.vector[CPU]), demand))

    @hookimpl
    def gpu_order(self, task: Task, nodes: NodeView, row: int, gpu_group: str) -> float:
        devices = self.current_devices()
        free, request = int(nodes.table.idle[row, CPU]), int(task.vector[CPU])
        level = self._fragmentation.cpu_level
        part = devices.free_part(row, gpu_group)
        demand = devices.demand(task)
        return float(self._device_score(row, level(free), level(free - request), demand, part))

    def _score(self, row: int, free_cpu: int, cpu: int, demand: GpuDemand) -> int:
        """The best score of any device of the node."""
        level, state = self._fragmentation.cpu_level, self.devices.states[row]
        before, after = level(free_cpu), level(free_cpu - cpu)
        key = (self._models[row], before, after, demand, state)
        score = self._known.get(key)
        if score is None:
            parts = {part for part in state if part >= demand.milli}
            if not demand.devices or demand.milli == WHOLE:
                parts = {WHOLE}
            score = max(
                (self._device_score(row, before, after, demand, part) for part in parts), default=0
            )
            self._known[key] = score
        return score

    def _device_score(self, row: int, before: int, after: int, demand: GpuDemand, part: int) -> int:
        """The score of a device of which so much is free."""
        model, state = self._models[row], self.devices.states[row]
        measure = self._fragmentation.of
        gain = measure(model, before, state) - measure(model, after, _left(state, demand, part))
        return int(100 / (1 + exp(-gain / WHOLE)))


def _left(state: tuple[int, ...], demand: GpuDemand, part: int) -> tuple[int, ...]:
    """The devices after a task took whole ones, or its share of one of which ``part`` was free."""
    if not demand.devices:
        return state
    if demand.milli == WHOLE:
        return state[: len(state) - demand.devices]  # whole devices are the last ones
    left = list(state)
    for _ in range(demand.devices):
        if part in left:
            left.remove(part)
            left.append(part - demand.milli)
    return tuple(sorted(free for free in left if free))


def _model(node: Node, label: str) -> str:
    return node.labels.get(label, "")


def allowed_models(pod: Pod, label: str) -> str:
    """The values of a node label that a pod requires, separated by ``|``; empty: any."""
    if label in pod.node_selector:
        return pod.node_selector[label]
    required = (pod.affinity.get("nodeAffinity") or {}).get(
        "requiredDuringSchedulingIgnoredDuringExecution"
    ) or {}
    for term in required.get("nodeSelectorTerms") or ():
        for expression in term.get("matchExpressions") or ():
            if expression.get("key") == label and expression.get("operator") == "In":
                return "|".join(expression.get("values") or ())
    return ""
