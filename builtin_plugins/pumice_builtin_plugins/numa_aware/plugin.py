"""Place pods with exclusive CPUs where kubelet's topology manager will admit them."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from loguru import logger
from pydantic import Field

from pumice import (
    ALLOCATED_STATUSES,
    PLACED_STATUSES,
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
    CpuTopology,
    CpuTopologyPool,
    NumaTopology,
    read_topology,
)

POLICY = "volcano.sh/numa-topology-policy"
DECISION = "volcano.sh/topology-decision"
_MAX_SCORE = 100
_NONE = ("", "none")
_HOLDING = ALLOCATED_STATUSES | {TaskStatus.RELEASING}


class CpuRequest(NamedTuple):
    """The exclusive CPUs that one class of tasks requests."""

    policy: str
    """The topology policy that the pod requires; empty: that of the node."""
    counts: tuple[int, ...]
    """Whole CPUs of each container with exclusive CPUs."""


class NumaAware(Plugin):
    """Filter and score nodes by how many NUMA nodes a guaranteed pod's CPUs would be spread over.

    Nodes are described by Numatopology objects. CPUs assigned since such an object was written
    count as taken until it is written again. Asked node by node: sets of CPUs are no columns.
    """

    class Options(Plugin.Options):
        weight: int = Field(1, description="Weight of the score, for pods with a NUMA policy.")

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        memory: dict[str, Any] = session.memory.setdefault(self.name, {})
        self._pool: CpuTopologyPool = memory.setdefault("layouts", CpuTopologyPool())
        self._read: dict[str, tuple[object, NumaTopology | None]] = {}
        objects = session.cluster.inventory.others.get("Numatopology", {})
        known = memory.get("read", {})
        for name, raw in sorted(objects.items()):
            old = known.get(name)
            self._read[name] = old if old and old[0] is raw else (raw, self._topology(name, raw))
        memory["read"] = self._read
        nodes = [self._read.get(name, (None, None))[1] for name in session.nodes.names]
        self._nodes: list[NumaTopology | None] = nodes
        self._assigned: list[dict[str, int]] = [{} for _ in nodes]
        """Per row: the CPUs of tasks that the object does not count yet, by uid."""
        self._free = [node.free or 0 if node else 0 for node in nodes]
        self._bound: dict[str, int] = {}
        """By uid: CPUs of tasks that are bound, also while they are being evicted."""
        self._requests: dict[Hashable, CpuRequest | None] = {}
        self._fits: dict[tuple[CpuTopology, int, str, tuple[int, ...]], int | None] = {}
        self._any_policy = any(node and node.static and node.policy not in _NONE for node in nodes)
        self._restore(memory.get("assigned", {}), objects)

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are assigned different CPUs."""
        return self._request(task)

    @hookimpl
    def predicate(self, task: Task, node: NodeHandle, job: Job | None) -> FitError | None:
        request = self._request(task)
        refusal = self._refusal(request, node.row) if request else None
        return FitError.of(*refusal, self.name) if refusal else None

    @hookimpl(scope="row")
    def predicate_nodes(self, task: Task, nodes: NodeView) -> NodeVerdicts | None:
        request = self._request(task)
        if request is None or not (request.policy or self._any_policy):
            return None
        verdicts = NodeVerdicts.accept(len(nodes))
        for position, row in enumerate(nodes.rows.tolist()):
            refusal = self._refusal(request, row)
            if refusal:
                verdicts.reject_one(position, FitError.of(*refusal, self.name))
        return verdicts

    def _scope(self, task: Task) -> Scope:
        request = self._request(task)
        return "cluster" if request and request.policy else "static"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        request = self._request(task)
        if request is None or not request.policy:
            return None
        numa_nodes = np.array(
            [self._numa_nodes(request, row) for row in nodes.rows.tolist()], np.int64
        )
        most = numa_nodes.max(initial=0)
        scores = _MAX_SCORE - _MAX_SCORE * numa_nodes // most if most else numa_nodes + _MAX_SCORE
        return np.asarray(scores * self.options.weight, float)

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        row, request = self.session.nodes.row_of.get(task.node), self._request(task)
        if row is None or request is None or not request.counts:
            return
        if task.status not in PLACED_STATUSES:  # its eviction is undone
            self._assign(row, task.uid, self._bound.get(task.uid))
        elif self._nodes[row] is not None and self._refusal(request, row) is None:
            self._assign(row, task.uid, self._cpus(request, row))

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        row = self.session.nodes.row_of.get(task.node)
        if row is not None:
            self._assign(row, task.uid, None)

    @hookimpl
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        row = self.session.nodes.row_of[node]
        topology, cpus = self._nodes[row], self._assigned[row].get(task.uid)
        if topology is None or not cpus:
            return None
        self._bound[task.uid] = cpus
        cpu_topology = topology.cpu_topology
        counts = [(part & cpus).bit_count() for part in cpu_topology.nodes]
        numa = {
            str(number): {"cpu": str(count)}
            for number, count in zip(cpu_topology.numbers, counts, strict=True)
            if count
        }
        return {DECISION: json.dumps({"numa": numa}, separators=(",", ":"))}

    @hookimpl
    def on_session_close(self) -> None:
        assigned: dict[str, tuple[object, dict[str, int]]] = {}
        for uid, cpus in self._bound.items():
            task = self.session.cluster.tasks[uid]
            if task.status in _HOLDING and task.node in self._read:
                raw = self._read[task.node][0]
                assigned.setdefault(task.node, (raw, {}))[1][uid] = cpus
        self.session.memory[self.name]["assigned"] = assigned

    # -- helpers

    def _topology(self, name: str, raw: Mapping[str, Any]) -> NumaTopology | None:
        try:
            return read_topology(raw, self._pool)
        except ValueError as error:
            logger.warning("Numatopology {} is ignored: {}", name, error)
            return None

    def _restore(self, assigned: Mapping[str, Any], objects: Mapping[str, Any]) -> None:
        """Take over what earlier cycles assigned and the objects do not show yet."""
        for name, (raw, cpus_of) in assigned.items():
            row, now = self.session.nodes.row_of.get(name), objects.get(name)
            if row is None or now is None or now.get("spec") != raw.get("spec"):
                continue
            for uid, cpus in cpus_of.items():
                task = self.session.cluster.tasks.get(uid)
                if task is not None and task.node == name and task.status in _HOLDING:
                    self._bound[uid] = cpus
                    self._assign(row, uid, cpus)

    def _request(self, task: Task) -> CpuRequest | None:
        pod = task.pod
        policy = pod.annotations.get(POLICY, "")
        key = (id(pod.containers), id(pod.init_containers), pod.qos, policy)
        if key not in self._requests:
            self._requests[key] = (
                CpuRequest("" if policy in _NONE else policy, _whole_cpus(pod.containers))
                if qos_class(pod) == GUARANTEED
                else None
            )
        return self._requests[key]

    def _refusal(self, request: CpuRequest, row: int) -> tuple[str, Code] | None:
        """Reason and code where the node would not admit the pod."""
        node = self._nodes[row]
        if request.policy:
            mismatch = _mismatch(request.policy, node)
            if mismatch:
                return mismatch, Code.ERROR
        elif node is None or not node.static or node.policy in _NONE:
            return None
        if self._cpus(request, row) is None:
            return "cannot align the pod's CPUs with NUMA nodes", Code.UNRESOLVABLE
        return None

    def _cpus(self, request: CpuRequest, row: int) -> int | None:
        """The CPUs that the node would assign; None where it would not admit the pod."""
        node = self._nodes[row]
        assert node is not None
        key = (node.cpu_topology, self._free[row], node.policy, request.counts)
        if key not in self._fits:
            self._fits[key] = assign(*key)
        return self._fits[key]

    def _numa_nodes(self, request: CpuRequest, row: int) -> int:
        """How many NUMA nodes the pod's CPUs would be on."""
        node = self._nodes[row]
        cpus = self._cpus(request, row) if node and not _mismatch(request.policy, node) else None
        return sum(1 for part in node.cpu_topology.nodes if part & cpus) if node and cpus else 0

    def _assign(self, row: int, uid: str, cpus: int | None) -> None:
        """Assign CPUs of a node to a task; None takes back what it had."""
        node, assigned = self._nodes[row], self._assigned[row]
        if node is None or (cpus is None and uid not in assigned):
            return
        if cpus is None:
            del assigned[uid]
        else:
            assigned[uid] = cpus
        free = node.free or 0
        for taken in assigned.values():
            free &= ~taken
        self._free[row] = free


def _mismatch(policy: str, node: NumaTopology | None) -> str:
    """Why the node cannot run a pod that requires a policy; empty: it can."""
    if node is None:
        return "the node has no Numatopology"
    if not node.static:
        return "the node's CPU manager is not static"
    if node.policy != policy:
        return f"the node's topology policy is {node.policy}, the pod requires {policy}"
    return "" if node.free is not None else "the node does not report its free CPUs"


def _whole_cpus(containers: Sequence[Container]) -> tuple[int, ...]:
    """The CPUs of containers that request whole ones; others share what is left."""
    milli = [int(container.requests.cpu) for container in containers]
    return tuple(amount // 1000 for amount in milli if amount and amount % 1000 == 0)
