"""What the evicting actions have in common: who claims, where, and evicting until it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from pumice import Code, Job, JobHeap, Session, Statement, Task
from pumice.session.nodes.best_rows import FEW_TRIES as PATIENCE
from pumice_builtin_actions.greedy.whole_job_check import whole_job_need


def may_claim(session: Session, job: Job) -> bool:
    """Whether a job was let in and can be worked on at all, and task by task."""
    if job.is_pending or session.ask.job_valid(job) is not None:
        return False
    return whole_job_need(job) is None


def starving_jobs(session: Session) -> dict[str, JobHeap]:
    """By queue, the jobs that may take room from others; queues that only have others, too."""
    starving: dict[str, JobHeap] = {}
    for job in session.jobs.values():
        with session.turn(job):
            starves = session.ask.job_starving(job)
            if job.queue in starving and not starves:
                continue
            if may_claim(session, job):
                if job.queue not in starving:
                    starving[job.queue] = session.order.job_heap(evicting=True)
                if starves:
                    starving[job.queue].push(job)
    return starving


def pending_tasks(session: Session, job: Job) -> list[Task]:
    """The tasks that wait for room, the first to serve first."""
    return session.order.sorted_tasks(task for task in job.pending if not task.gated)


class CurableNodes:
    """The nodes whose objections to a task, if any, an eviction may cure.

    With ``remember`` a node that failed once stays out for later tasks of the same job and role.
    """

    def __init__(self, session: Session, *, remember: bool) -> None:
        self._session = session
        self._remember = remember
        self._failed: dict[tuple[str, str], np.ndarray] = {}

    def groups(self, task: Task, within: np.ndarray | None = None) -> list[np.ndarray]:
        """Their rows, in the groups in which they are to be tried. The task is prepared."""
        session = self._session
        rows = session.resolvable_rows(task)
        if within is not None:
            rows = within if rows is None else np.intersect1d(rows, within)
        codes = session.queries.verdicts(task, rows).codes
        passing = (codes == Code.OK) | (codes == Code.UNSCHEDULABLE)
        if rows is None:
            rows = session.nodes.all_rows
        if self._remember and task.role and task.job is not None:
            passing = self._recalled((task.job.uid, task.role), rows, passing)
        split = session.shard.split(rows[passing])
        return [group for group in split if group is not None and len(group)]

    def _recalled(
        self, group: tuple[str, str], rows: np.ndarray, passing: np.ndarray
    ) -> np.ndarray:
        failed = self._failed.get(group)
        if failed is None:
            failed = self._failed[group] = np.zeros(len(self._session.nodes), bool)
        failed[rows[~passing]] = True
        return np.asarray(~failed[rows])


def best_first(rows: np.ndarray, scores: np.ndarray) -> Iterator[int]:
    """Rows by falling score, in the order of the rows where it is equal; without one last.

    Mostly one of the first will do, so the others are put in order only when they come up.
    """
    scores = np.where(np.isnan(scores), -np.inf, scores)
    for _ in range(min(len(rows), PATIENCE)):
        position = int(scores.argmax())
        yield int(rows[position])
        rows, scores = np.delete(rows, position), np.delete(scores, position)
    yield from rows[np.argsort(-scores, kind="stable")].tolist()


def evict_until(
    session: Session,
    trial: Statement,
    task: Task,
    victims: Iterable[Task],
    enough: Callable[[], bool],
    reason: str,
) -> list[Task] | None:
    """Evict victims in order until there is enough; None when all of them are not enough."""
    if enough():
        return []
    evicted = []
    for victim in session.order.evicted_in_order(victims, task, session.queues):
        trial.evict(victim, reason, claimant=task.job)
        evicted.append(victim)
        if enough():
            return evicted
    return None
