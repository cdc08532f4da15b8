"""Pods that want CPUs of their own go where kubelet's topology manager will admit them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from loguru import logger
from pydantic import Field

from pumice import (
    ALLOCATED_STATUSES,
    Code,
    Container,
    FitError,
    Job,
    NodeHandle,
    NodeVerdicts,
    NodeView,
    Plugin,
    Scope,
    Task,
    TaskStatus,
    hookimpl,
)
from pumice_builtin_plugins.kube.qos import GUARANTEED, qos_class
from pumice_builtin_plugins.numa_aware.fit import assign
from pumice_builtin_plugins.numa_aware.topology import (
    Layout,
    LayoutPool,
    NumaTopology,
    read_topology,
)

POLICY = "volcano.sh/numa-topology-policy"
DECISION = "volcano.sh/topology-decision"
_MAX_SCORE = 100
_NONE = ("", "none")
_PLACED = (TaskStatus.ALLOCATED, TaskStatus.PIPELINED)
_HOLDING = ALLOCATED_STATUSES | {TaskStatus.RELEASING}


class Demand(NamedTuple):
    """What one class of tasks asks of NUMA nodes."""

    policy: str
    """The policy that the pod insists on; empty: whichever the node has."""
    counts: tuple[int, ...]
    """Whole CPUs of each container that gets its own."""


class NumaAware(Plugin):
    """Filter and score nodes by how many NUMA nodes a guaranteed pod's CPUs would be spread over.

    Nodes are known by their Numatopology objects. The CPUs given out since such an object was
    written are remembered until it is written again. Asked node by node: sets of CPUs are no
    columns.
    """

    class Options(Plugin.Options):
        weight: int = Field(1, description="Weight of the score, for pods with a NUMA policy.")

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        memory: dict[str, Any] = session.memory.setdefault(self.name, {})
        self._pool: LayoutPool = memory.setdefault("layouts", LayoutPool())
        self._read: dict[str, tuple[object, NumaTopology | None]] = {}
        objects = session.cluster.inventory.others.get("Numatopology", {})
        known = memory.get("read", {})
        for name, raw in sorted(objects.items()):
            old = known.get(name)
            self._read[name] = old if old and old[0] is raw else (raw, self._topology(name, raw))
        memory["read"] = self._read
        told = [self._read.get(name, (None, None))[1] for name in session.nodes.names]
        self._nodes: list[NumaTopology | None] = told
        self._held: list[dict[str, int]] = [{} for _ in told]
        """Per row: the CPUs of tasks that the object does not count yet."""
        self._free = [node.free or 0 if node else 0 for node in told]
        self._settled: dict[str, int] = {}
        """By uid: CPUs of tasks whose place is no trial, kept while they are being evicted."""
        self._demands: dict[Hashable, Demand | None] = {}
        self._assigned: dict[tuple[Layout, int, str, tuple[int, ...]], int | None] = {}
        self._selective = any(node and node.static and node.policy not in _NONE for node in told)
        self._recall(memory.get("held", {}), objects)

    def _topology(self, name: str, raw: Mapping[str, Any]) -> NumaTopology | None:
        try:
            return read_topology(raw, self._pool)
        except ValueError as error:
            logger.warning("Numatopology {}: {}; the node counts as without", name, error)
            return None

    def _recall(self, held: Mapping[str, Any], objects: Mapping[str, Any]) -> None:
        """Take over what earlier cycles gave out and the objects do not tell yet."""
        for name, (raw, cpus_of) in held.items():
            row, now = self.session.nodes.row_of.get(name), objects.get(name)
            if row is None or now is None or now.get("spec") != raw.get("spec"):
                continue
            for uid, cpus in cpus_of.items():
                task = self.session.cluster.tasks.get(uid)
                if task is not None and task.node == name and task.status in _HOLDING:
                    self._settled[uid] = cpus
                    self._hold(row, uid, cpus)

    # -- what a task asks and gets

    def _demand(self, task: Task) -> Demand | None:
        pod = task.pod
        policy = pod.annotations.get(POLICY, "")
        key = (id(pod.containers), id(pod.init_containers), pod.qos, policy)
        if key not in self._demands:
            self._demands[key] = (
                Demand("" if policy in _NONE else policy, _whole_cpus(pod.containers))
                if qos_class(pod) == GUARANTEED
                else None
            )
        return self._demands[key]

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are aligned differently."""
        return self._demand(task)

    def _refusal(self, demand: Demand, row: int) -> tuple[str, Code] | None:
        node = self._nodes[row]
        if demand.policy:
            lack = _lack(demand.policy, node)
            if lack:
                return lack, Code.ERROR
        elif node is None or not node.static or node.policy in _NONE:
            return None
        if self._cpus(demand, row) is None:
            return "cannot align the pod's CPUs with NUMA nodes", Code.UNRESOLVABLE
        return None

    def _cpus(self, demand: Demand, row: int) -> int | None:
        """The CPUs that the node would give; None where it would not admit the pod."""
        node = self._nodes[row]
        assert node is not None
        key = (node.layout, self._free[row], node.policy, demand.counts)
        if key not in self._assigned:
            self._assigned[key] = assign(*key)
        return self._assigned[key]

    # -- answers

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        demand = self._demand(task)
        refusal = self._refusal(demand, node.row) if demand else None
        return FitError.of(*refusal, self.name) if refusal else None

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        demand = self._demand(task)
        if demand is None or not (demand.policy or self._selective):
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        for position, row in enumerate(nodes.rows.tolist()):
            refusal = self._refusal(demand, row)
            if refusal:
                verdicts.reject_one(position, FitError.of(*refusal, self.name))
        return verdicts

    def _reach(self, task: Task) -> Scope:
        demand = self._demand(task)
        return "cluster" if demand and demand.policy else "static"

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        demand = self._demand(task)
        if demand is None or not demand.policy:
            return None
        spread = np.array([self._spread(demand, row) for row in nodes.rows.tolist()], np.int64)
        widest = spread.max(initial=0)
        scores = _MAX_SCORE - _MAX_SCORE * spread // widest if widest else spread + _MAX_SCORE
        return np.asarray(scores * self.options.weight, float)

    def _spread(self, demand: Demand, row: int) -> int:
        """How many NUMA nodes the pod's CPUs would be on."""
        node = self._nodes[row]
        cpus = self._cpus(demand, row) if node and not _lack(demand.policy, node) else None
        return sum(1 for part in node.layout.nodes if part & cpus) if node and cpus else 0

    # -- what happens

    def _hold(self, row: int, uid: str, cpus: int | None) -> None:
        """Let a task have these CPUs; None takes away what it had."""
        node, held = self._nodes[row], self._held[row]
        if node is None or (cpus is None and uid not in held):
            return
        if cpus is None:
            del held[uid]
        else:
            held[uid] = cpus
        free = node.free or 0
        for taken in held.values():
            free &= ~taken
        self._free[row] = free

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        row, demand = self.session.nodes.row_of.get(task.node), self._demand(task)
        if row is None or demand is None or not demand.counts:
            return
        if task.status not in _PLACED:  # its eviction is taken back
            self._hold(row, task.uid, self._settled.get(task.uid))
        elif self._nodes[row] is not None and self._refusal(demand, row) is None:
            self._hold(row, task.uid, self._cpus(demand, row))

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self.session.nodes.row_of.get(task.node)
        if row is not None:
            self._hold(row, task.uid, None)

    @hookimpl
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        row = self.session.nodes.row_of[node]
        topology, cpus = self._nodes[row], self._held[row].get(task.uid)
        if topology is None or not cpus:
            return None
        self._settled[task.uid] = cpus
        layout = topology.layout
        counts = [(part & cpus).bit_count() for part in layout.nodes]
        numa = {
            str(number): {"cpu": str(count)}
            for number, count in zip(layout.numbers, counts, strict=True)
            if count
        }
        return {DECISION: json.dumps({"numa": numa}, separators=(",", ":"))}

    @hookimpl
    def on_session_close(self) -> None:
        held: dict[str, tuple[object, dict[str, int]]] = {}
        for uid, cpus in self._settled.items():
            task = self.session.cluster.tasks[uid]
            if task.status in _HOLDING and task.node in self._read:
                raw = self._read[task.node][0]
                held.setdefault(task.node, (raw, {}))[1][uid] = cpus
        self.session.memory[self.name]["held"] = held


def _lack(policy: str, node: NumaTopology | None) -> str:
    """What the node lacks for a pod that insists on a policy; empty: nothing."""
    if node is None:
        return "the node tells nothing of its NUMA nodes"
    if not node.static:
        return "the node's CPU manager is not static"
    if node.policy != policy:
        return f"the node's topology policy is {node.policy}, the pod wants {policy}"
    return "" if node.free is not None else "the node does not tell which CPUs are free"


def _whole_cpus(containers: Sequence[Container]) -> tuple[int, ...]:
    """The whole CPUs that containers ask for; those that ask for parts share what is left."""
    milli = [int(container.requests.cpu) for container in containers]
    return tuple(amount // 1000 for amount in milli if amount and amount % 1000 == 0)
