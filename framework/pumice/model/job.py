"""A job: the tasks of one pod group, counted by status, with its sub-jobs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.model.members import NO_TASKS, Members
from pumice.model.sub_job import SubJob
from pumice.model.sums import group_sums, stacked
from pumice.model.task import IS_ALLOCATED, IS_READY, Task, TaskStatus

if TYPE_CHECKING:
    from pumice.fit_errors import FitErrors
    from pumice.model.facts import NetworkTopology, PodGroup, SubGroupPolicy
    from pumice.model.families.kai.pod_sets import SubGroupSet
    from pumice.model.resources import Resource
    from pumice.verdicts import Refusal

__all__ = ["Job", "Members", "SubJob", "is_hard"]

_PENDING = TaskStatus.PENDING


class Job(Members):
    """All tasks of one pod group."""

    __slots__ = (
        "allocated",
        "allocated_hyper_node",
        "conditions",
        "created",
        "family",
        "fit_errors",
        "group",
        "heeds_preemption_policy",
        "initial",
        "journal",
        "last_start",
        "min_resources",
        "min_sub_jobs",
        "name",
        "namespace",
        "network_topology",
        "phase",
        "plugin_errors",
        "preemptable",
        "preemptible",
        "priority",
        "queue",
        "reason",
        "refusals",
        "revocable_zone",
        "role_min",
        "role_min_total",
        "spared",
        "stale_since",
        "state",
        "sub_group_root",
        "sub_jobs",
        "takes_foreign_pods",
        "total_request",
    )

    def __init__(self, group: PodGroup, *, priority: int, dimensions: int) -> None:
        super().__init__(group.uid, group.min_member)
        self.group = group
        """The pod group that the job is made from."""
        self.family = group.family
        """The family of the pod group."""
        self.heeds_preemption_policy = True
        """Whether nothing is evicted for its tasks whose pods have preemptionPolicy Never."""
        self.takes_foreign_pods = False
        """Whether pods that name another scheduler are its tasks, too."""
        self.name = group.name
        """The name of the pod group."""
        self.namespace = group.namespace
        """The namespace of the pod group."""
        self.queue = group.queue
        """The name of its queue."""
        self.created = group.created
        """Epoch seconds of the pod group's creation."""
        self.priority = priority
        """The value of its priority class."""
        self.phase = group.phase
        """The phase of the pod group."""
        self.role_min: Mapping[str, int] = group.min_task_member
        """Role → how many tasks of it must run (minTaskMember)."""
        self.role_min_total = sum(self.role_min.values())
        """The sum of ``role_min``."""
        self.min_resources: Resource | None = group.min_resources
        """The resources that the gang needs at least (minResources)."""
        self.network_topology: NetworkTopology | None = None
        """How close together its tasks must be."""
        self.sub_jobs: dict[str, SubJob] = {}
        """Its parts by uid."""
        self.min_sub_jobs: dict[str, int] = {}
        """Group of sub-jobs → how many of them must be ready."""
        self.allocated = _zeros(dimensions)
        """The sum of the requests that its tasks hold, as a vector."""
        self.total_request = _zeros(dimensions)
        """The sum of all its tasks' requests, as a vector."""
        self.allocated_hyper_node = ""
        """The lowest hypernode that has all tasks placed so far."""
        self.preemptable = False
        """Volcano's mark of a job that may run on revocable nodes."""
        self.journal: list[Job] = []
        """Shared by the jobs of a cluster: every change of a task's status adds its job."""
        self.preemptible = True
        """Whether the KAI family may take the job's tasks for others."""
        self.spared = False
        """Whether one of its tasks is marked as never to be evicted for others."""
        self.last_start = group.last_start
        """Epoch seconds at which the job last started to run."""
        self.stale_since = group.stale_since
        """Epoch seconds since when the gang has been below its minimum."""
        self.sub_group_root: SubGroupSet | None = None
        """The root of the tree of KAI's sub-groups."""
        self.revocable_zone = ""
        """The revocable zone that its tasks may use (Volcano's tdm)."""
        self.fit_errors: dict[str, FitErrors] = {}
        """By task uid: why no node could take it in this cycle."""
        self.plugin_errors: list[str] = []
        """What plugins raised while this job was decided."""
        self.conditions: list[dict[str, Any]] = []
        """Conditions to be written to the pod group."""
        self.refusals: list[Refusal] = []
        """Why the job as a whole was not placed in this cycle."""
        self.reason = ""
        """Why the job waits, set when the session closes."""
        self.state: dict[str, Any] = {}
        """Notes of plugins and actions for this cycle, by name."""
        self.initial: tuple[Any, ...] = ()
        """Its state when the cycle began, see :mod:`pumice.model.incremental.restore`."""

    def read_status(self, group: PodGroup) -> None:
        """Take over the status of the pod group, of which nothing else has changed."""
        self.group = group
        self.phase, self.last_start, self.stale_since = (
            group.phase,
            group.last_start,
            group.stale_since,
        )

    def add(self, task: Task, sub_job: SubJob) -> None:
        """Take a task in, while the cluster is built; :func:`sum_requests` is called after that."""
        uid, status = task.uid, task.status
        task.job, task.sub_job = self, sub_job
        self.tasks[uid] = sub_job.tasks[uid] = task
        tasks, same = self.by_status[status], sub_job.by_status[status]
        if tasks and same and not task.best_effort:
            # Called for every pod: others of its job and status have entered before it.
            tasks[uid] = same[uid] = task
            if IS_READY[status]:
                self.ready_count += 1
                sub_job.ready_count += 1
        else:
            self._enter(task, status)
            sub_job._enter(task, status)
        if task.priority > sub_job.priority:
            sub_job.priority = task.priority

    def subset(self, tasks: Iterable[Task], minimums: Mapping[str, int] | None = None) -> Job:
        """A job of only these tasks, as they are now, for a trial.

        The tasks stay those of this job: what happens to them is counted here, not there.
        ``minimums`` replaces minimums of sub-jobs, by uid.
        """
        part = Job.__new__(Job)
        Members.__init__(part, self.uid, self.min_available)
        for name in _SHARED_BY_PARTS:
            setattr(part, name, getattr(self, name))
        part.allocated = np.zeros_like(self.allocated)
        part.total_request = np.zeros_like(self.total_request)
        part.sub_jobs = {}
        for uid, sub_job in self.sub_jobs.items():
            minimum = (minimums or {}).get(uid, sub_job.min_available)
            copy = part.sub_jobs[uid] = SubJob(
                uid, self, group_id=sub_job.group_id, min_available=minimum, name=sub_job.name
            )
            copy.topology_constraint, copy.parent = sub_job.topology_constraint, sub_job.parent
        for task in tasks:
            part.widen(task)
        return part

    def widen(self, task: Task, minimum: int | None = None) -> None:
        """Take one more task, as it is now, into a part of a job.

        ``minimum`` is the new one of its sub-job.
        """
        assert task.sub_job is not None
        sub_job = self.sub_jobs[task.sub_job.uid]
        for members in (self, sub_job):
            members.tasks[task.uid] = task
            members._enter(task, task.status)
        self.total_request += task.vector
        if IS_ALLOCATED[task.status]:
            self.allocated += task.vector
        if minimum is not None:
            sub_job.min_available = minimum

    def set_status(self, task: Task, status: TaskStatus) -> None:
        """Move a task to another status and keep all counts."""
        old = task.status
        if old is status:
            return
        sub_job = task.sub_job
        assert sub_job is not None
        self.journal.append(self)
        uid = task.uid
        for by_status in (self.by_status, sub_job.by_status):
            source, target = by_status[old], by_status[status]
            if not target and len(source) == 1:
                # In jobs of one task, which are many, moving the dict saves making one.
                by_status[old], by_status[status] = NO_TASKS, source
                continue
            del source[uid]
            if target is NO_TASKS:
                by_status[status] = {uid: task}
            else:
                target[uid] = task
        task.status = status
        if task.best_effort:
            change = (status == _PENDING) - (old == _PENDING)
            self.pending_best_effort += change
            sub_job.pending_best_effort += change
        ready = IS_READY[status]
        if IS_READY[old] is not ready:
            change = 1 if ready else -1
            self.ready_count += change
            sub_job.ready_count += change
        allocated = IS_ALLOCATED[status]
        if IS_ALLOCATED[old] is not allocated:
            if allocated:
                self.allocated += task.vector
            else:
                self.allocated -= task.vector

    @property
    def sub_group_policies(self) -> Iterable[SubGroupPolicy]:
        """The pod group's rules for sub-jobs."""
        return self.group.sub_group_policies

    @property
    def has_sub_job_policy(self) -> bool:
        """Whether its parts have minimums of their own."""
        return bool(self.group.sub_group_policies or self.min_sub_jobs)

    @property
    def has_network_topology(self) -> bool:
        """Whether the job or a sub-job asks for nodes close together."""
        topology = self.network_topology
        if topology is not None and topology.mode:
            return True
        for sub_job in self.sub_jobs.values():
            topology = sub_job.network_topology
            if topology is not None and topology.mode:
                return True
        return False

    @property
    def has_hard_topology(self) -> bool:
        """Whether the job or a sub-job has a hard network topology."""
        for sub_job in self.sub_jobs.values():
            if sub_job.network_topology is not None and is_hard(sub_job.network_topology):
                return True
        return self.network_topology is not None and is_hard(self.network_topology)

    @property
    def is_pending(self) -> bool:
        """Whether the job has not been let into its queue yet."""
        return self.phase in ("", "Pending")

    def __repr__(self) -> str:
        return f"<job {self.uid} {self.ready_count}/{len(self.tasks)} ready>"


@cache
def _zeros(count: int) -> np.ndarray:
    """What a job without tasks requests and holds; shared, so not to be written to."""
    zeros = np.zeros(count, np.int64)
    zeros.flags.writeable = False
    return zeros


def sum_requests(jobs: Iterable[Job]) -> None:
    """Sum up what the tasks of new jobs request and hold."""
    with_tasks = [job for job in jobs if job.tasks]
    numbers: list[int] = []
    vectors: list[np.ndarray] = []
    holding: list[bool] = []
    for number, job in enumerate(with_tasks):
        for task in job.tasks.values():
            numbers.append(number)
            vectors.append(task.vector)
            holding.append(IS_ALLOCATED[task.status])
    if not vectors:
        return
    of_job, rows = np.array(numbers), stacked(vectors)
    requests = group_sums(of_job, rows, len(with_tasks))
    assert requests is not None
    mask = np.array(holding)
    allocated = group_sums(of_job[mask], rows[mask], len(with_tasks))
    if allocated is None:
        allocated = np.zeros_like(requests)
    for job, requested, held in zip(with_tasks, requests, allocated, strict=True):
        job.total_request, job.allocated = requested, held


_SHARED_BY_PARTS = tuple(
    name for name in Job.__slots__ if name not in ("allocated", "sub_jobs", "total_request")
)
"""What a part of a job has from the whole."""


def is_hard(topology: NetworkTopology | None) -> bool:
    """Whether a network topology must be met, not only should."""
    return (
        topology is not None
        and topology.mode == "hard"
        and topology.highest_tier_allowed is not None
    )
