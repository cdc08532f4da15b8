"""Tasks and jobs out of facts: what a cycle finds, before anything is decided."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Any

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Pod, PodGroup
from pumice.model.families.kai.pod_sets import describe_kai_job
from pumice.model.families.kai.tasks import describe_kai_task, describe_whole_gpus
from pumice.model.families.volcano.sub_jobs import (
    copy_of,
    default_sub_job,
    has_topology,
    settle_topology,
    sub_job_of,
)
from pumice.model.job import Job
from pumice.model.resources import Resource
from pumice.model.task import COMPLETED_STATUSES, Task, TaskStatus
from pumice.model.topology import HyperNodeTree

_KAI_DEFAULT_PRIORITY = 50
_BY_LABEL = {status.label: status for status in TaskStatus}
_AWAY = COMPLETED_STATUSES | {TaskStatus.PENDING}


class Vectors:
    """Requests as integers: pods that share a request share its vector."""

    __slots__ = ("_dimensions", "_known")

    def __init__(self, dimensions: Dimensions) -> None:
        self._dimensions = dimensions
        self._known: dict[int, tuple[Resource, np.ndarray]] = {}

    def of(self, request: Resource) -> np.ndarray:
        found = self._known.get(id(request))
        if found is None:
            # The request is kept, for its identity must not be given to another.
            found = self._known[id(request)] = (request, self._dimensions.vector(request))
        return found[1]

    def __len__(self) -> int:
        return len(self._known)


class ModelBuilder:
    """Makes the tasks and jobs of one cycle, one by one.

    A job is to be made before its tasks, and settled after they have joined it.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        now: float,
        scheduler_names: Collection[str],
        vectors: Vectors,
        dimensions: Dimensions,
        kai: bool,
        tree: HyperNodeTree,
    ) -> None:
        self.inventory = inventory
        self.now = now
        self.kai = kai
        """Whether the cluster is described in the words of the KAI family."""
        self.tree = tree
        self.jobs: dict[str, Job] = {}
        self.job_journal: list[Job] = []
        self._dimensions = dimensions
        self._vectors = vectors
        self._scheduler_names = scheduler_names

    def makes_job(self, group: PodGroup) -> bool:
        """Whether a pod group becomes a job: it needs a queue that exists."""
        return group.queue in self.inventory.queues

    def job(self, group: PodGroup) -> Job:
        """A job without its tasks."""
        priority = job_priority(group, self.inventory)
        job = Job(group, priority=priority, dimensions=len(self._dimensions))
        job.journal = self.job_journal
        if job.family == "kai":
            describe_kai_job(job)
        else:
            _describe_job(job)
        return job

    def owner(self, pod: Pod) -> Job | None:
        """The job that the pod is a part of, if any takes it."""
        owner = self.jobs.get(pod.group)
        if owner is not None and owner.family != "kai" and not self._is_ours(pod):
            return None
        return owner

    def _is_ours(self, pod: Pod) -> bool:
        names = self._scheduler_names
        return not names or not pod.scheduler_name or pod.scheduler_name in names

    def task(self, pod: Pod, owner: Job | None) -> Task:
        """A task that has not joined its job yet."""
        task = Task(pod, task_status(pod), self._vectors.of(pod.request))
        if self.kai and (owner is None or owner.family == "kai"):
            describe_kai_task(task, self._dimensions, self.inventory)
        else:
            _describe_task(task)
            if self.kai:
                describe_whole_gpus(task, self._dimensions)
        return task

    def join(self, task: Task, owner: Job) -> None:
        """Let a task join its job, unless none of the job's parts takes it."""
        sub_job = sub_job_of(owner, task.pod)
        if sub_job is None:
            return
        owner.add(task, sub_job)
        if owner.family == "kai":
            task.preemptable = owner.preemptible
        elif not task.preemptable:
            owner.spared = True

    def settle(self, job: Job) -> None:
        """Finish a job whose tasks have joined."""
        if has_topology(job):
            settle_topology(job, self.tree)
        if job.group.nominated_hyper_node:
            default_sub_job(job).nominated_hyper_node = job.group.nominated_hyper_node

    def is_held(self, task: Task) -> bool:
        """Whether the task counts on the node that it names."""
        status = task.status
        return status not in _AWAY and not (self.kai and status is TaskStatus.UNKNOWN)


def task_status(pod: Pod) -> TaskStatus:
    """The status a pod starts the cycle with."""
    if pod.status_override:
        return _BY_LABEL.get(pod.status_override, TaskStatus.UNKNOWN)
    match pod.phase:
        case "Running":
            return TaskStatus.RELEASING if pod.deleted is not None else TaskStatus.RUNNING
        case "Pending":
            if pod.deleted is not None:
                return TaskStatus.RELEASING
            return TaskStatus.BOUND if pod.node_name else TaskStatus.PENDING
        case "Succeeded":
            return TaskStatus.SUCCEEDED
        case "Failed":
            return TaskStatus.FAILED
    return TaskStatus.UNKNOWN


def job_priority(group: PodGroup, inventory: Inventory) -> int:
    """The value of the group's priority class, else of the global default, else the family's."""
    named = inventory.priority_classes.get(group.priority_class)
    if named is not None:
        return named.value
    for priority_class in inventory.priority_classes.values():
        if priority_class.global_default:
            return priority_class.value
    return _KAI_DEFAULT_PRIORITY if group.family == "kai" else 0


def _describe_task(task: Task) -> None:
    pod = task.pod
    task.best_effort = pod.request.is_empty()
    if pod.priority is not None:
        task.priority = pod.priority
    if not pod.annotations and not pod.labels:
        return
    annotations, labels = pod.annotations, pod.labels
    task.role = annotations.get("volcano.sh/task-spec") or labels.get("volcano.sh/task-spec", "")
    with suppress(KeyError, ValueError):
        task.priority = int(annotations["volcano.sh/task-priority"])
    preemptable = annotations.get("volcano.sh/preemptable", labels.get("volcano.sh/preemptable"))
    task.preemptable = True if preemptable is None else parse_bool(preemptable)
    task.revocable_zone = revocable_zone(annotations)


def _describe_job(job: Job) -> None:
    annotations, labels = job.group.annotations, job.group.labels
    preemptable = annotations.get("volcano.sh/preemptable", labels.get("volcano.sh/preemptable"))
    job.preemptable = preemptable is not None and parse_bool(preemptable)
    job.revocable_zone = revocable_zone(annotations)
    job.network_topology = copy_of(job.group.network_topology)
    for policy in job.group.sub_group_policies:
        job.min_sub_jobs[f"{job.uid}/{policy.name}"] = policy.min_sub_groups or 0
    if not job.group.sub_group_policies:
        default_sub_job(job)


def parse_bool(text: str) -> bool:
    """Go's idea of a boolean; anything else is false."""
    return text in ("1", "t", "T", "true", "TRUE", "True")


def revocable_zone(annotations: Any) -> str:
    """``*`` where the object may run on revocable nodes, else empty."""
    zone = annotations.get("volcano.sh/revocable-zone")
    if zone is not None:
        return "*" if zone == "*" else ""
    return "*" if parse_bool(annotations.get("volcano.sh/preemptable", "")) else ""
