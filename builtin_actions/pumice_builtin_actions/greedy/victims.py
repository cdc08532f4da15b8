"""Who could be evicted on a node, and on which nodes that could ever make enough room."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

import numpy as np

from pumice import PREEMPTABLE_STATUSES, Job, RowCursor, Session, Task, TaskStatus

Accepts = Callable[[Task], bool]


def of_other_jobs(preemptor: Task) -> Accepts:
    """Of the evictable tasks of the preemptor's queue, those of other jobs.

    A task without requests takes room only from its like.
    """
    job, best_effort = preemptor.job, preemptor.best_effort

    def accepts(task: Task) -> bool:
        return task.job is not job and (task.best_effort or not best_effort)

    return accepts


def of_same_job(preemptor: Task) -> Accepts:
    """Evictable tasks of the preemptor's own job; one without requests takes only its like."""
    job, best_effort = preemptor.job, preemptor.best_effort

    def accepts(task: Task) -> bool:
        return (
            task.job is job
            and task.preemptable
            and task.status in PREEMPTABLE_STATUSES
            and (task.best_effort or not best_effort)
        )

    return accepts


def of_other_queues(session: Session, reclaimer: Job) -> Accepts:
    """Running tasks of other queues that let themselves be reclaimed."""
    queues = session.queues

    def accepts(task: Task) -> bool:
        return (
            task.status is TaskStatus.RUNNING
            and task.preemptable
            and task.job is not None
            and task.job.queue != reclaimer.queue
            and queues[task.job.queue].reclaimable
        )

    return accepts


class Evictable:
    """Per node, the tasks that may be evicted and what they hold together.

    On every node they stand in one order for the whole action, the first to go first: those of
    the lowest priority, of the youngest job, and of a job the one placed last. Plugins that allow
    only so many of a list take them from the front. Kept up to date by the journal of nodes.
    """

    __slots__ = ("_accepts", "_cursor", "_nodes", "_rank", "count", "tasks", "total")

    def __init__(self, session: Session, jobs: Iterable[Job], accepts: Accepts) -> None:
        """``jobs`` are all of which tasks may ever be accepted."""
        nodes = self._nodes = session.nodes
        self._accepts = accepts
        self._cursor = RowCursor(nodes, at_end=True)
        self._rank: dict[str, int] = {}
        self.tasks: list[list[Task]] = [[] for _ in nodes.names]
        self.total = np.zeros(nodes.allocatable.shape, np.int64)
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        for task in _first_to_go_first(session, jobs):
            self._rank[task.uid] = len(self._rank)
            row = nodes.row_of.get(task.node)
            if row is not None and accepts(task):
                self.tasks[row].append(task)
                rows.append(row)
                vectors.append(task.vector)
        self.count = np.bincount(np.array(rows, np.intp), minlength=len(nodes))
        if rows:
            np.add.at(self.total, rows, np.array(vectors))

    def refreshed(self) -> Self:
        """Itself, brought up to date with the nodes."""
        for row in self._cursor.changed_rows():
            self._refresh(row)
        return self

    def _refresh(self, row: int) -> None:
        tasks = [held.task for held in self._nodes.held[row].values() if self._accepts(held.task)]
        tasks.sort(key=lambda task: self._rank[task.uid])
        self.tasks[row] = tasks
        self.count[row] = len(tasks)
        total = self.total[row]
        total[:] = 0
        for task in tasks:
            total += task.vector


def _first_to_go_first(session: Session, jobs: Iterable[Job]) -> Iterator[Task]:
    by_name = sorted(jobs, key=lambda job: job.uid, reverse=True)
    for job in sorted(by_name, key=lambda job: (job.priority, -job.created)):
        yield from reversed(session.order.sorted_tasks(job.tasks.values()))


class EvictableByQueue:
    """What could be evicted of each queue, and of all that can be reclaimed from."""

    def __init__(self, session: Session, statuses: Iterable[TaskStatus]) -> None:
        self._session = session
        self._statuses = frozenset(statuses)
        self._keeps = session.uses("victims")
        self._of: dict[str, Evictable] = {}
        self._reclaimable: Evictable | None = None

    def of(self, queue: str) -> Evictable:
        found = self._of.get(queue) if self._keeps else None
        if found is None:
            found = self._of[queue] = self._new(lambda job: job.queue == queue)
        return found.refreshed()

    def reclaimable(self) -> Evictable:
        found = self._reclaimable if self._keeps else None
        if found is None:
            queues = self._session.queues
            found = self._reclaimable = self._new(lambda job: queues[job.queue].reclaimable)
        return found.refreshed()

    def _new(self, concerns: Callable[[Job], bool]) -> Evictable:
        statuses = self._statuses

        def accepts(task: Task) -> bool:
            job = task.job
            return (
                job is not None and concerns(job) and task.preemptable and task.status in statuses
            )

        jobs = [job for job in self._session.jobs.values() if concerns(job)]
        return Evictable(self._session, jobs, accepts)
