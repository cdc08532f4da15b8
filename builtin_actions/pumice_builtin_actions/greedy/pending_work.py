"""The pending tasks of a job, sub-job by sub-job, in the order in which they are placed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pumice import Job, LiveHeap, Session, SubJob, Task
from pumice.manifests import QUEUE_GATE


class PendingSubJob:
    """The pending tasks of one sub-job, the next one last so that it can be popped."""

    __slots__ = ("mixed_roles", "required", "sub_job", "tasks")

    def __init__(
        self, sub_job: SubJob, tasks: list[Task], required: bool, mixed_roles: frozenset[str]
    ) -> None:
        self.sub_job = sub_job
        self.tasks = tasks
        self.required = required
        """Whether its group needs this sub-job to reach minSubGroups."""
        self.mixed_roles = mixed_roles
        """The roles whose tasks do not all have the same requirements."""

    def copy(self) -> PendingSubJob:
        return PendingSubJob(self.sub_job, list(self.tasks), self.required, self.mixed_roles)


class PendingWork:
    """The pending sub-jobs of one job."""

    __slots__ = ("_session", "by_sub_job", "order")

    def __init__(self, session: Session, sub_jobs: Iterable[PendingSubJob]) -> None:
        self._session = session
        self.by_sub_job = {pending.sub_job.uid: pending for pending in sub_jobs}
        self.order = LiveHeap(self._before, [p.sub_job for p in self.by_sub_job.values()])

    def _before(self, left: SubJob, right: SubJob) -> bool:
        left_required = self.by_sub_job[left.uid].required
        if left_required != self.by_sub_job[right.uid].required:
            return left_required
        return self._session.order.sub_job_before(left, right)

    def copy(self) -> PendingWork:
        remaining = list(self.order)
        return PendingWork(
            self._session, [self.by_sub_job[sub_job.uid].copy() for sub_job in remaining]
        )

    @property
    def only(self) -> PendingSubJob:
        """The one sub-job of a job that has no sub-job policy."""
        return next(iter(self.by_sub_job.values()))

    def __bool__(self) -> bool:
        return bool(self.by_sub_job)


def pending_work(session: Session, job: Job, *, queue_gated: bool = True) -> PendingWork:
    """Collect the pending tasks of a job.

    Best-effort tasks are left to backfill. Tasks with scheduling gates are left out, except, with
    ``queue_gated``, those that wait for nothing but the queue's allocation gate.
    """
    required = _required_sub_jobs(session, job)
    sub_jobs = []
    for sub_job in job.sub_jobs.values():
        tasks = session.order.sorted_tasks(
            task
            for task in sub_job.pending
            if not task.best_effort
            and (not task.gated or (queue_gated and task.pod.gates == (QUEUE_GATE,)))
        )
        if tasks:
            tasks.reverse()
            sub_jobs.append(
                PendingSubJob(sub_job, tasks, sub_job.uid in required, _mixed_roles(session, tasks))
            )
    return PendingWork(session, sub_jobs)


def _mixed_roles(session: Session, tasks: Iterable[Task]) -> frozenset[str]:
    classes: dict[str, int] = {}
    mixed = set()
    for task in tasks:
        if task.role:
            task_class = session.queries.class_id(task)
            if classes.setdefault(task.role, task_class) != task_class:
                mixed.add(task.role)
    return frozenset(mixed)


def _required_sub_jobs(session: Session, job: Job) -> set[str]:
    """The sub-jobs that must be placed for their groups to reach minSubGroups."""
    if not job.min_sub_jobs:
        return set()
    ready: Counter[str] = Counter()
    unready = []
    for sub_job in job.sub_jobs.values():
        if session.sub_job_ready(sub_job):
            ready[sub_job.group_id] += 1
        else:
            unready.append(sub_job)
    required = set()
    heap = LiveHeap(session.order.sub_job_before, unready)
    while heap:
        sub_job = heap.pop()
        if ready[sub_job.group_id] < job.min_sub_jobs.get(sub_job.group_id, 0):
            required.add(sub_job.uid)
            ready[sub_job.group_id] += 1
    return required
