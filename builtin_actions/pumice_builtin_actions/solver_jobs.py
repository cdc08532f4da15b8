"""Which jobs the solver actions look at: those that wait, and those that may be evicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import islice

from pumice import ACTIVE_STATUSES, Job, JobCursor, Session, TaskStatus
from pumice.gang import active_count, has_pending, is_ready_to_schedule
from pumice.solver import QueueTree, RankedJobs

_ALIVE_STATUSES = (*ACTIVE_STATUSES, TaskStatus.PENDING)


_WAITING = "solver.waiting"
"""Name in ``session.state``."""


def waiting_jobs(session: Session, accept: Callable[[Job], bool] = lambda job: True) -> list[Job]:
    """Jobs with pending tasks and enough of them to start, admitted where the policy admits."""
    valid: _ValidJobs | None = session.state.get(_WAITING)
    if valid is None:
        valid = session.state[_WAITING] = _ValidJobs(session)
    admits = session.admits_jobs
    return [job for job in valid.jobs() if not (admits and job.is_pending) and accept(job)]


class _ValidJobs:
    """The jobs with pending tasks and enough of them to start, to which no plugin objects.

    Looked up once for all actions of a cycle, and again where a task has changed its status.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._changes = JobCursor(session.cluster.job_journal)
        self._checked = session.admits_jobs or session.ask.has("job_valid")
        self._valid = {job.uid: job for job in session.jobs.values() if self._is_valid(job)}

    def jobs(self) -> Iterable[Job]:
        """The jobs in the order of the session."""
        valid, late = self._valid, False
        for job in self._changes.changed():
            if not self._is_valid(job):
                valid.pop(job.uid, None)
            elif job.uid not in valid:
                valid[job.uid], late = job, True
        if late:
            every = self._session.jobs
            self._valid = valid = {uid: job for uid, job in every.items() if uid in valid}
        return valid.values()

    def _is_valid(self, job: Job) -> bool:
        session = self._session
        if not has_pending(job) or not is_ready_to_schedule(job):
            return False
        if job.has_network_topology and not session.hyper_nodes.ready:
            return False
        if not self._checked:
            return True
        valid = False
        with session.turn(job):
            valid = session.ask.job_valid(job) is None
        return valid


def may_evict(job: Job) -> bool:
    """Whether tasks may be evicted for the job: no pending pod has preemptionPolicy Never."""
    pending = job.by_status[TaskStatus.PENDING].values()
    return all(task.pod.preemption_policy != "Never" for task in pending)


class VictimQueues:
    """Makes queue trees of the running jobs that may lose tasks, the first to evict first."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _evictable(self) -> RankedJobs:
        """Ranked when first needed: in most cycles no job needs victims."""
        return RankedJobs(self._session, may_lose_tasks)

    def has(self, accept: Callable[[Job], bool]) -> bool:
        """Whether a job that may lose tasks satisfies a condition."""
        if not self._session.order.has_job_keys:
            jobs = self._session.jobs.values()
            return any(may_lose_tasks(job) and accept(job) for job in jobs)
        ranked = self._evictable.refresh().values()
        return any(accept(job) for entries in ranked for _, job in entries)

    def make(self, of_queue: Callable[[str], bool], accept: Callable[[Job], bool]) -> QueueTree:
        """The jobs of some queues that ``accept`` accepts; it is asked when a job comes up."""
        session = self._session
        if not session.order.has_job_keys or not session.uses("order_keys"):
            return self.make_at_once(lambda job: of_queue(job.queue) and accept(job))
        return QueueTree.ranked(
            session,
            self._evictable,
            lambda job: accept(job) and _is_alive(session, job),
            of_queue=of_queue,
            victims=True,
        )

    def make_at_once(self, accept: Callable[[Job], bool], *, most: int | None = None) -> QueueTree:
        """As :meth:`make`; ``accept`` is asked now, in the order of the jobs' names.

        ``most``: no more than so many jobs are taken.
        """
        session = self._session
        candidates = (
            job
            for job in session.jobs.values()
            if may_lose_tasks(job) and _is_alive(session, job) and accept(job)
        )
        return QueueTree(session, islice(candidates, most), victims=True)


def may_lose_tasks(job: Job) -> bool:
    """Whether a job runs that others may take tasks from."""
    return job.preemptible and not job.spared and active_count(job) > 0


def _is_alive(session: Session, job: Job) -> bool:
    """Whether a task of the job could run, or runs on a node of the session."""
    row_of = session.nodes.row_of
    return any(
        not task.node or task.node in row_of
        for status in _ALIVE_STATUSES
        for task in job.by_status[status].values()
    )
