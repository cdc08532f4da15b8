"""CPU, memory and GPUs as three integers: the quantities in which queues are fair to each other."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from pumice import ALLOCATED_STATUSES, Job, Resource, Session, Task, TaskStatus
from pumice.gpu import GPU, mig_gpus
from pumice_builtin_plugins.gpu.nodes import is_healthy

Amount = tuple[int, int, int]
"""CPU (milli), memory (bytes), GPUs (milli)."""
Bound = tuple[float, float, float]
"""As :data:`Amount`, where ``math.inf`` is unlimited."""

NAMES = ("cpu", "memory", GPU)
NOTHING: Amount = (0, 0, 0)
UNITS = (1, 1, 1000)
"""The smallest part of each resource that is handed out beyond a quota."""

_MIN_GPU_MEMORY = 100
_OWN_SCHEDULERS = frozenset({"", "kai-scheduler", "pumice", "volcano"})
_UTILITY_APPS = frozenset({"kai-resource-reservation", "scaling-pod"})
_GPU_WORKER = "node-role.kubernetes.io/gpu-worker"
_IN_USE = frozenset(
    {
        TaskStatus.ALLOCATED,
        TaskStatus.PIPELINED,
        TaskStatus.BINDING,
        TaskStatus.BOUND,
        TaskStatus.RUNNING,
        TaskStatus.RELEASING,
    }
)


class Amounts:
    """What tasks count, depending on what is being counted."""

    def __init__(self, session: Session) -> None:
        self._nodes = session.nodes
        self._gpus = [
            (position, 1 if name in (GPU, "amd.com/gpu") else mig_gpus(name))
            for name, position in session.nodes.dimensions.position.items()
            if name in (GPU, "amd.com/gpu") or mig_gpus(name)
        ]
        smallest = session.cluster.inventory.min_node_gpu_memory
        self._min_gpu_memory = _MIN_GPU_MEMORY if smallest is None else smallest
        self._known: dict[str | int, Amount] = {}

    def quota(self, task: Task) -> Amount:
        """What a task counts against limits and quotas; a request of GPU memory is no GPU yet."""
        # Equal requests share their vector, but a share of a GPU is told by the task alone.
        key = task.uid if task.gpu.shared or task.gpu.claimed else id(task.vector)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._counted(task)
        return found

    def _counted(self, task: Task) -> Amount:
        vector = task.vector.tolist()
        gpus = task.gpu.quota_milli if task.gpu.any else self._weigh(vector)
        return vector[0], vector[1], gpus

    def _weigh(self, vector: list[int]) -> int:
        return sum(vector[position] * weight for position, weight in self._gpus)

    def request(self, task: Task) -> Amount:
        """What a waiting task asks for; GPU memory counts by the smallest GPU of the cluster."""
        amount = self.quota(task)
        if task.gpu.kind != "memory" or self._min_gpu_memory <= 0:
            return amount
        memory = task.gpu.devices * task.gpu.memory
        return amount[0], amount[1], amount[2] + round(memory * 1000 / self._min_gpu_memory)

    def held(self, task: Task) -> Amount:
        """What a task takes on its node; GPU memory counts by the GPUs of that node."""
        amount = self.quota(task)
        if task.gpu.kind != "memory":
            return amount
        row = self._nodes.row_of.get(task.node)
        if row is None:
            return amount
        memory = self._nodes.shares(row).memory_per_gpu
        return amount[0], amount[1], task.gpu.accepted_milli(memory)

    def on_node(self, task: Task, row: int) -> Amount:
        """What a task would count on a node: one device, however many it asks for."""
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

    def total_request(self, tasks: Iterable[Task]) -> Amount:
        return add_up(self.request(task) for task in tasks)

    def total_quota(self, tasks: Iterable[Task]) -> Amount:
        return add_up(self.quota(task) for task in tasks)

    def cluster_total(self, session: Session) -> Amount:
        """What healthy nodes have, less what the pods of other schedulers take there."""
        params = session.cluster.inventory.scheduler_params
        own = own_schedulers(params, session.policy.scheduler.scheduler_names)
        workers_only = bool(params.get("restrictSchedulingNodes"))
        parts = session.cluster.snapshot_cache.of_nodes(
            ("fairshare", own, workers_only),
            lambda row: self._offered(row, own, workers_only),
            width=len(NAMES),
        )
        cpu, memory, gpus = parts.sum(axis=0).tolist()
        return cpu, memory, gpus

    def _offered(self, row: int, own: frozenset[str], workers_only: bool) -> Amount:
        """What one node adds to the cluster."""
        node = self._nodes.facts[row]
        if not is_healthy(node):
            return NOTHING
        cpu, memory, *_ = vector = self._nodes.allocatable[row].tolist()
        gpus = 0 if workers_only and _GPU_WORKER not in node.labels else self._weigh(vector)
        for entry in self._nodes.held[row].values():
            if entry.status in _IN_USE and _is_foreign(entry.task, own):
                taken = self.quota(entry.task)
                cpu, memory, gpus = cpu - taken[0], memory - taken[1], gpus - taken[2]
        return cpu, memory, gpus

    def held_by(self, job: Job) -> Amount:
        """What the tasks of a job that have their place take on their nodes."""
        return add_up(
            self.held(task)
            for status in ALLOCATED_STATUSES
            for task in job.by_status[status].values()
        )

    def of_job(self, job: Job) -> tuple[int, ...]:
        """What a job's tasks hold, and what those ask for that wait and are not gated."""
        waiting = job.by_status[TaskStatus.PENDING].values()
        return *self.held_by(job), *self.total_request(t for t in waiting if not t.gated)

    def of_jobs(self, session: Session) -> np.ndarray:
        """The same for all jobs of a session that has just been opened."""
        name = ("fairshare", self._min_gpu_memory)
        return session.cluster.snapshot_cache.of_jobs(name, self.of_job, width=2 * len(NAMES))


def own_schedulers(params: Mapping[str, Any], named: Collection[str]) -> frozenset[str]:
    """The scheduler names of pods that are not another scheduler's."""
    told = params.get("schedulerName")
    if told:
        return frozenset({"", told})
    return frozenset({"", *named}) if named else _OWN_SCHEDULERS


def _is_foreign(task: Task, own: frozenset[str]) -> bool:
    if task.pod.scheduler_name in own or task.labels.get("app") in _UTILITY_APPS:
        return False
    # Volcano's jobs are told by their pod group alone.
    return task.job is None or task.job.family == "kai"


def add_up(amounts: Iterable[Amount]) -> Amount:
    cpu = memory = gpus = 0
    for amount in amounts:
        cpu += amount[0]
        memory += amount[1]
        gpus += amount[2]
    return cpu, memory, gpus


def plus(left: Amount | list[int], right: Amount) -> Amount:
    return left[0] + right[0], left[1] + right[1], left[2] + right[2]


def within(amount: Amount | list[int] | Bound, bound: Bound | list[int]) -> bool:
    """Whether every resource is at most what the bound allows."""
    return amount[0] <= bound[0] and amount[1] <= bound[1] and amount[2] <= bound[2]


def as_resource(amount: Bound | list[int]) -> Resource:
    return Resource(amount[0], amount[1], {GPU: amount[2]})
