"""Tasks and jobs made of facts: the state of a cycle before anything is decided."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Inventory, Pod, PodGroup
from pumice.model.families import DEFAULT_PRIORITIES, Family, families_of
from pumice.model.families.volcano.sub_jobs import (
    default_sub_job,
    has_topology,
    settle_topology,
)
from pumice.model.job import Job
from pumice.model.resources import Resource
from pumice.model.task import Task, TaskStatus
from pumice.model.topology import HyperNodeTree

_BY_LABEL = {status.label: status for status in TaskStatus}
_RELEASING, _BOUND, _UNKNOWN = TaskStatus.RELEASING, TaskStatus.BOUND, TaskStatus.UNKNOWN
_OF_LIVE_PODS = {"Running": TaskStatus.RUNNING, "Pending": TaskStatus.PENDING}
_OF_ENDED_PODS = {"Succeeded": TaskStatus.SUCCEEDED, "Failed": TaskStatus.FAILED}


class Vectors:
    """Requests as integers: pods that share a request share its vector."""

    __slots__ = ("_dimensions", "_known")

    def __init__(self, dimensions: Dimensions) -> None:
        self._dimensions = dimensions
        self._known: dict[int, tuple[Resource, np.ndarray]] = {}

    def of(self, request: Resource) -> np.ndarray:
        entry = self._known.get(id(request))
        if entry is None:
            # The request is referenced, so that no other object gets its id.
            entry = self._known[id(request)] = (request, self._dimensions.vector(request))
        return entry[1]

    def __len__(self) -> int:
        return len(self._known)


class ModelBuilder:
    """Makes the tasks and jobs of one cycle, one by one.

    A job is to be made before its tasks, and finished after they have joined it.
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
        """Whether the cluster has KAI jobs."""
        self.tree = tree
        self.jobs: dict[str, Job] = {}
        self.job_journal: list[Job] = []
        self._dimensions = dimensions
        self._vectors = vectors
        self._scheduler_names = scheduler_names
        self._families = families_of(kai=kai)
        self._no_group = self._families["kai" if kai else "volcano"]
        """Reads the pods that belong to no pod group."""

    def makes_job(self, group: PodGroup) -> bool:
        """Whether a pod group becomes a job: it needs a queue that exists."""
        return group.queue in self.inventory.queues

    def job(self, group: PodGroup) -> Job:
        """A job without its tasks."""
        priority = job_priority(group, self.inventory)
        job = Job(group, priority=priority, dimensions=len(self._dimensions))
        job.journal = self.job_journal
        self._families[job.family].read_job(job)
        return job

    def owner(self, pod: Pod) -> Job | None:
        """The job that the pod is a part of, if any takes it."""
        owner = self.jobs.get(pod.group)
        if (
            owner is None
            or not self._scheduler_names
            or self._families[owner.family].takes(pod, self._scheduler_names)
        ):
            return owner
        return None

    def task(self, pod: Pod) -> Task:
        """A task that has not joined its job yet."""
        task = Task(pod, task_status(pod), self._vectors.of(pod.request))
        family = self._family(pod) if self.kai else self._no_group
        family.read_task(task, self.inventory, self._dimensions)
        return task

    def _family(self, pod: Pod) -> Family:
        group = self.inventory.groups.get(pod.group)
        return self._no_group if group is None else self._families[group.family]

    def join(self, task: Task, owner: Job) -> None:
        """Let a task join its job, unless none of the job's sub-jobs takes it."""
        family = self._families[owner.family]
        sub_job = family.sub_job(owner, task.pod)
        if sub_job is not None:
            owner.add(task, sub_job)
            family.joined(owner, task)

    def finish(self, job: Job) -> None:
        """Finish a job whose tasks have joined."""
        if has_topology(job):
            settle_topology(job, self.tree)
        if job.group.nominated_hyper_node:
            default_sub_job(job).nominated_hyper_node = job.group.nominated_hyper_node

    def is_on_node(self, task: Task) -> bool:
        """Whether the task counts on the node that it names."""
        family = self._family(task.pod) if self.kai else self._no_group
        return bool(task.node) and task.status not in family.not_on_a_node


def task_status(pod: Pod) -> TaskStatus:
    """The status a pod starts the cycle with."""
    if pod.status_override:
        return _BY_LABEL.get(pod.status_override, _UNKNOWN)
    phase = pod.phase
    if phase in _OF_LIVE_PODS:
        if pod.deleted is not None:
            return _RELEASING
        return _BOUND if phase == "Pending" and pod.node_name else _OF_LIVE_PODS[phase]
    return _OF_ENDED_PODS.get(phase, _UNKNOWN)


def job_priority(group: PodGroup, inventory: Inventory) -> int:
    """The value of the group's priority class, else of the global default, else the family's."""
    named = inventory.priority_classes.get(group.priority_class)
    if named is not None:
        return named.value
    for priority_class in inventory.priority_classes.values():
        if priority_class.global_default:
            return priority_class.value
    return DEFAULT_PRIORITIES[group.family]
