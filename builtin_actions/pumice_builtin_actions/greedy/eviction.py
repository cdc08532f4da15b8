"""What preempt, reclaim and the gang actions share: for whom, where, and how many to evict."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from pumice import Job, JobHeap, NodeTable, Queue, RequestFit, Session, Statement, Task
from pumice_builtin_actions.greedy.whole_job_check import whole_job_refusal


def is_eligible(session: Session, job: Job) -> bool:
    """Whether a job is past enqueue, valid, and can be placed task by task."""
    if job.is_pending or session.ask.job_valid(job) is not None:
        return False
    return whole_job_refusal(job) is None


def may_be_eligible(session: Session, job: Job) -> bool:
    """Whether to look at a job at all: for one that was not admitted only a reason is noted."""
    return session.records_reasons or not job.is_pending


def starving_jobs(session: Session) -> dict[str, JobHeap]:
    """The starving jobs of each queue.

    A queue whose eligible jobs are all satisfied is listed, too, with no jobs: Volcano pushes the
    queue of every eligible job into its heap.
    """
    starving: dict[str, JobHeap] = {}
    for job in session.jobs.values():
        if not may_be_eligible(session, job):
            continue
        with session.turn(job):
            starves = session.ask.job_starving(job)
            if not starves:
                note_not_starving(session, job)
            if job.queue in starving and not starves:
                continue
            if is_eligible(session, job):
                if job.queue not in starving:
                    starving[job.queue] = session.order.job_heap(evicting=True)
                if starves:
                    starving[job.queue].push(job)
    return starving


def note_not_starving(session: Session, job: Job) -> None:
    """Note why nothing is evicted for a job that has its minimum but waits for more."""
    if job.pending:
        session.note(job, "NotStarving", "nothing is evicted for a job that is not starving")


def is_never_preempting(session: Session, task: Task) -> bool:
    """Whether nothing may be evicted for a task, because of its preemption policy."""
    if task.pod.preemption_policy != "Never":
        return False
    if task.job is not None:
        session.note(task.job, "PreemptionNever", "its pods have preemptionPolicy Never")
    return True


def note_undone(session: Session, job: Job, statement: Statement) -> None:
    """Note that what was placed for a job is undone, because the gang would not be complete."""
    placed = sum(op.task.job is job for op in statement.operations)
    if placed:
        session.note(
            job,
            "EvictionsUndone",
            f"placed {placed} of {len(job.pending) + placed} tasks by evictions, fewer than the "
            "gang needs, so that they were undone",
        )


def skip_overused(session: Session, queue: Queue, jobs: Iterable[Job]) -> None:
    """Note for the jobs of a queue that it is skipped, because it holds all that it deserves."""
    for job in jobs:
        session.note(job, "QueueOverused", f"queue {queue.name} holds all that it deserves")


def pending_tasks(session: Session, job: Job) -> list[Task]:
    """The pending tasks without scheduling gates, in task order; best-effort ones included."""
    return session.order.sorted_tasks(task for task in job.pending if not task.gated)


class ResolvableNodes:
    """The nodes that accept a task, or whose refusal an eviction may resolve.

    With ``remember`` a node that refused once stays excluded for later tasks of the same job and
    role, even if evictions have changed it since. Volcano's predicate error cache does the same.
    """

    def __init__(self, session: Session, *, remember: bool) -> None:
        self._session = session
        self._remember = remember
        self._failed: dict[tuple[str, str], np.ndarray] = {}

    def groups(self, task: Task, within: np.ndarray | None = None) -> list[np.ndarray]:
        """Their rows, those inside the scheduler's shard first. The task must be prepared."""
        session = self._session
        rows = session.resolvable_rows(task)
        if within is not None:
            rows = within if rows is None else np.intersect1d(rows, within)
        passing = session.queries.resolvable(task, rows)
        if rows is None:
            rows = session.nodes.all_rows
        if self._remember and task.role and task.job is not None:
            passing = self._never_failed((task.job.uid, task.role), rows, passing)
        split = session.shard.split(rows[passing])
        return [group for group in split if group is not None and len(group)]

    def _never_failed(
        self, job_and_role: tuple[str, str], rows: np.ndarray, passing: np.ndarray
    ) -> np.ndarray:
        failed = self._failed.get(job_and_role)
        if failed is None:
            failed = self._failed[job_and_role] = np.zeros(len(self._session.nodes), bool)
        failed[rows[~passing]] = True
        return np.asarray(~failed[rows])


def fits_without(nodes: NodeTable, row: int, fit: RequestFit, victims: Iterable[Task]) -> bool:
    """Whether a request fits a node once all the victims are gone."""
    free = sum((victim.vector for victim in victims), nodes.future_idle[row])
    return fit.fits(free.tolist())


def takes_task(session: Session, task: Task, row: int) -> bool:
    """Whether the task's queue may have more and the filters accept the node as it is now."""
    return (
        session.ask.allocatable(session.queues[task.queue], task)
        and session.queries.prepare(task) is None
        and session.queries.predicate(task, row) is None
    )


def evict_until(
    session: Session,
    trial: Statement,
    task: Task,
    victims: Iterable[Task],
    enough: Callable[[], bool],
    reason: str,
) -> list[Task] | None:
    """Evict victims in victim order until ``enough``; None when all of them are not enough."""
    if enough():
        return []
    evicted = []
    for victim in session.order.evicted_in_order(victims, task, session.queues):
        trial.evict(victim, reason, claimant=task.job)
        evicted.append(victim)
        if enough():
            return evicted
    return None
