"""What is left to place of a job: its sub-jobs and their pending tasks, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from pumice import Job, LiveHeap, Session, SubJob, Task
from pumice.manifests import QUEUE_GATE


class PendingSubJob:
    """The tasks of one sub-job that are still to be placed, the next one last."""

    __slots__ = ("mixed_roles", "required", "sub_job", "tasks")

    def __init__(
        self, sub_job: SubJob, tasks: list[Task], required: bool, mixed_roles: frozenset[str]
    ) -> None:
        self.sub_job = sub_job
        self.tasks = tasks
        self.required = required
        """Whether its group needs this sub-job to reach its minimum."""
        self.mixed_roles = mixed_roles
        """The roles whose tasks do not all ask the same."""

    def copy(self) -> PendingSubJob:
        return PendingSubJob(self.sub_job, list(self.tasks), self.required, self.mixed_roles)


class PendingWork:
    """All that is left to place of one job."""

    __slots__ = ("_session", "by_sub_job", "order")

    def __init__(self, session: Session, works: Iterable[PendingSubJob]) -> None:
        self._session = session
        self.by_sub_job = {work.sub_job.uid: work for work in works}
        self.order = LiveHeap(self._before, [w.sub_job for w in self.by_sub_job.values()])

    def _before(self, left: SubJob, right: SubJob) -> bool:
        l_required = self.by_sub_job[left.uid].required
        if l_required != self.by_sub_job[right.uid].required:
            return l_required
        return self._session.order.sub_job_before(left, right)

    def copy(self) -> PendingWork:
        remaining = list(self.order)
        return PendingWork(
            self._session, [self.by_sub_job[sub_job.uid].copy() for sub_job in remaining]
        )

    @property
    def plain(self) -> PendingSubJob:
        """The only work of a job that is not divided."""
        return next(iter(self.by_sub_job.values()))

    def __bool__(self) -> bool:
        return bool(self.by_sub_job)


def make_worksheet(session: Session, job: Job, *, gated: bool = True) -> PendingWork:
    """Line up the pending tasks of a job.

    Tasks without requests are left to backfill. Gated tasks are left out, except, when ``gated``
    is set, those that only wait for their queue's admission.
    """
    required = _required_sub_jobs(session, job)
    works = []
    for sub_job in job.sub_jobs.values():
        tasks = session.order.sorted_tasks(
            task
            for task in sub_job.pending
            if not task.best_effort
            and (not task.gated or (gated and task.pod.gates == (QUEUE_GATE,)))
        )
        if tasks:
            tasks.reverse()
            works.append(
                PendingSubJob(sub_job, tasks, sub_job.uid in required, _mixed_roles(session, tasks))
            )
    return PendingWork(session, works)


def _mixed_roles(session: Session, tasks: Iterable[Task]) -> frozenset[str]:
    classes: dict[str, int] = {}
    mixed = set()
    for task in tasks:
        if task.role:
            asked = session.queries.class_id(task)
            if classes.setdefault(task.role, asked) != asked:
                mixed.add(task.role)
    return frozenset(mixed)


def _required_sub_jobs(session: Session, job: Job) -> set[str]:
    """The sub-jobs that must be placed for their groups to reach their minimums."""
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
