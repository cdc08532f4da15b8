"""Resource quantities as KAI counts them: CPU, memory and GPUs as three integers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from pumice import ALLOCATED_STATUSES, USED_STATUSES, Job, Resource, Session, Task, TaskStatus
from pumice.gpu import AMD_GPU, GPU, gpu_memory, mig_gpus
from pumice.kube import is_healthy

Quantities = tuple[int, int, int]
"""CPU (milli), memory (bytes), GPUs (milli)."""
Bounds = tuple[float, float, float]
"""As :data:`Quantities`; ``math.inf`` is unlimited."""

NAMES = ("cpu", "memory", GPU)
NOTHING: Quantities = (0, 0, 0)
UNITS = (1, 1, 1000)
"""The smallest amount of each resource that is handed out beyond a quota."""

_MIN_GPU_MEMORY = 100
_OWN_SCHEDULERS = frozenset({"", "kai-scheduler", "pumice", "volcano"})
_UTILITY_APPS = frozenset({"kai-resource-reservation", "scaling-pod"})
_GPU_WORKER = "node-role.kubernetes.io/gpu-worker"


class TaskQuantities:
    """The quantities of tasks, by what they are counted for."""

    def __init__(self, session: Session, *, upstream_gpu_memory: bool = False) -> None:
        """``upstream_gpu_memory``: where the smallest GPU of the cluster is not stated, it is
        taken for one of 100 MiB."""
        self._nodes = session.nodes
        self._gpu_weights = [
            (position, 1 if name in (GPU, AMD_GPU) else mig_gpus(name))
            for name, position in session.nodes.dimensions.position.items()
            if name in (GPU, AMD_GPU) or mig_gpus(name)
        ]
        smallest = session.cluster.inventory.min_node_gpu_memory
        if smallest is None and upstream_gpu_memory:
            smallest = _MIN_GPU_MEMORY
        self._smallest_gpu = smallest
        """MiB of the smallest GPU, where it is stated; 0 or less: GPU memory counts nothing."""
        self._gpu_sizes = _gpu_sizes(session) if smallest is None else ()
        """MiB of the GPUs of the nodes, the smallest first."""
        self._quotas: dict[int, tuple[Task, Quantities]] = {}
        """By the identity of a task."""
        self._equal: dict[int, Quantities] = {}
        """By the identity of a vector, which equal requests share."""

    def quota(self, task: Task) -> Quantities:
        """What a task counts against limits and quotas while its node is not known.

        GPU memory counts by the largest GPU, the least that it will be; in KAI not at all.
        """
        gpu = task.gpu
        if gpu.shared or gpu.claimed:  # known to the task alone
            known = self._quotas.get(id(task))
            if known is None or known[0] is not task:
                known = self._quotas[id(task)] = (task, self._quota(task))
            return known[1]
        quota = self._equal.get(id(task.vector))
        if quota is None:
            quota = self._equal[id(task.vector)] = self._quota(task)
        return quota

    def _quota(self, task: Task) -> Quantities:
        vector, gpu = task.vector.tolist(), task.gpu
        gpus = gpu.quota_milli if gpu.any else self._gpus(vector)
        if gpu.kind == "memory" and self._gpu_sizes:
            gpus = gpu.accepted_milli(max(self._gpu_sizes[-1], gpu.memory))
        return vector[0], vector[1], gpus

    def _gpus(self, vector: list[int]) -> int:
        return sum(vector[position] * weight for position, weight in self._gpu_weights)

    def request(self, task: Task) -> Quantities:
        """What a pending task requests; GPU memory counts by the smallest GPU that has so much."""
        quota, smallest = self.quota(task), self._smallest_gpu
        if task.gpu.kind != "memory":
            return quota
        if smallest is None:
            fitting = (size for size in self._gpu_sizes if size >= task.gpu.memory)
            return quota[0], quota[1], task.gpu.accepted_milli(next(fitting, task.gpu.memory))
        if smallest <= 0:
            return quota
        memory = task.gpu.devices * task.gpu.memory
        return quota[0], quota[1], quota[2] + round(memory * 1000 / smallest)

    def accepted(self, task: Task) -> Quantities:
        """What a task holds on its node; GPU memory counts by the GPUs of that node."""
        quota = self.quota(task)
        if task.gpu.kind != "memory":
            return quota
        row = self._nodes.row_of.get(task.node)
        if row is None:
            return quota
        memory = self._nodes.shares(row).memory_per_gpu
        return quota[0], quota[1], task.gpu.accepted_milli(memory)

    def on_node(self, task: Task, row: int) -> Quantities:
        """What a task would count on a node.

        KAI counts one device here, however many the task requests; the whole request is checked
        per job (:meth:`total_quota`).
        """
        cpu, memory, gpus = self.quota(task)
        gpu = task.gpu
        if gpu.kind == "mig":
            return cpu, memory, gpus
        if gpu.shared:
            whole = self._nodes.shares(row).memory_per_gpu
            return cpu, memory, -(-100 * gpu.device_memory(whole) // whole) * 10
        if gpu.kind == "regular":
            return cpu, memory, 1000
        return cpu, memory, 0 if gpu.any else gpus

    def total_request(self, tasks: Collection[Task]) -> Quantities:
        if len(tasks) == 1:
            return self.request(next(iter(tasks)))
        return add_up(self.request(task) for task in tasks)

    def total_quota(self, tasks: Collection[Task]) -> Quantities:
        if len(tasks) == 1:
            return self.quota(next(iter(tasks)))
        return add_up(self.quota(task) for task in tasks)

    def cluster_total(self, session: Session) -> Quantities:
        """Allocatable of the nodes, less what pods of other schedulers use there.

        Where there are queues of KAI's, only healthy nodes count.
        """
        params = session.cluster.inventory.scheduler_params
        own = own_schedulers(params, session.policy.scheduler.scheduler_names)
        workers_only = bool(params.get("restrictSchedulingNodes"))
        # Volcano divides all nodes, KAI only those that take pods.
        healthy = any(queue.family == "kai" for queue in session.queues.values())
        per_node = session.cluster.snapshot_cache.of_nodes(
            ("fairshare", own, workers_only, healthy, self._smallest_gpu),
            lambda row: self._node_total(row, own, workers_only, healthy),
            width=len(NAMES),
        )
        cpu, memory, gpus = per_node.sum(axis=0).tolist()
        return cpu, memory, gpus

    def _node_total(
        self, row: int, own: frozenset[str], workers_only: bool, healthy: bool
    ) -> Quantities:
        """What one node adds to the cluster total."""
        node = self._nodes.facts[row]
        if healthy and not is_healthy(node):
            return NOTHING
        cpu, memory, *_ = vector = self._nodes.allocatable[row].tolist()
        gpus = 0 if workers_only and _GPU_WORKER not in node.labels else self._gpus(vector)
        # KAI counts GPU memory nothing here, although the node is known.
        held = self.accepted if self._smallest_gpu is None else self.quota
        for entry in self._nodes.held[row].values():
            if entry.status in USED_STATUSES and _is_foreign(entry.task, own):
                used = held(entry.task)
                cpu, memory, gpus = cpu - used[0], memory - used[1], gpus - used[2]
        return cpu, memory, gpus

    def allocated(self, job: Job) -> Quantities:
        """What the job's allocated tasks hold on their nodes."""
        return add_up(
            self.accepted(task)
            for status in ALLOCATED_STATUSES
            for task in job.by_status[status].values()
        )

    def allocated_and_pending(self, session: Session) -> np.ndarray:
        """One row per job of a session that was just opened: allocated, then pending requests."""
        name = ("fairshare", self._smallest_gpu, self._gpu_sizes)
        return session.cluster.snapshot_cache.of_jobs(name, self._job_row, width=2 * len(NAMES))

    def _job_row(self, job: Job) -> tuple[int, ...]:
        pending = job.by_status[TaskStatus.PENDING].values()
        return *self.allocated(job), *self.total_request([t for t in pending if not t.gated])


def _gpu_sizes(session: Session) -> tuple[int, ...]:
    facts = session.nodes.facts

    def stated(row: int) -> int:
        memory, is_stated = gpu_memory(facts[row])
        return memory if is_stated else 0

    column = session.cluster.snapshot_cache.of_nodes("gpu_memory", stated)
    return tuple(sorted({memory for memory in column.tolist() if memory}))


def own_schedulers(params: Mapping[str, Any], names: Collection[str]) -> frozenset[str]:
    """The scheduler names of pods that are this scheduler's own."""
    given = params.get("schedulerName")
    if given:
        return frozenset({"", given})
    return frozenset({"", *names}) if names else _OWN_SCHEDULERS


def _is_foreign(task: Task, own: frozenset[str]) -> bool:
    if task.pod.scheduler_name in own or task.labels.get("app") in _UTILITY_APPS:
        return False
    return task.job is None or task.job.takes_foreign_pods


def add_up(quantities: Iterable[Quantities]) -> Quantities:
    cpu = memory = gpus = 0
    for each in quantities:
        cpu += each[0]
        memory += each[1]
        gpus += each[2]
    return cpu, memory, gpus


def plus(left: Quantities | list[int], right: Quantities) -> Quantities:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def minus(left: Quantities, right: Quantities) -> Quantities:
    return left[0] - right[0], left[1] - right[1], left[2] - right[2]


def within(quantities: Quantities | list[int] | Bounds, bounds: Bounds | list[int]) -> bool:
    """Whether every resource is at most the bound."""
    return quantities[0] <= bounds[0] and quantities[1] <= bounds[1] and quantities[2] <= bounds[2]


def as_resource(quantities: Bounds | list[int]) -> Resource:
    return Resource(quantities[0], quantities[1], {GPU: quantities[2]})


def by_name(quantities: Bounds | list[int]) -> dict[str, float]:
    return dict(zip(NAMES, quantities, strict=True))
