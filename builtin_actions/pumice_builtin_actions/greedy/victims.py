"""The tasks that may be evicted, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Self

import numpy as np

from pumice import PREEMPTABLE_STATUSES, Job, RowCursor, Session, Task, TaskStatus

TaskFilter = Callable[[Task], bool]


def of_other_jobs(preemptor: Task) -> TaskFilter:
    """Of the evictable tasks of the preemptor's queue, those of other jobs.

    A best-effort preemptor may evict best-effort tasks only.
    """
    job, best_effort = preemptor.job, preemptor.best_effort

    def accepts(task: Task) -> bool:
        return task.job is not job and (task.best_effort or not best_effort)

    return accepts


def of_same_job(preemptor: Task) -> TaskFilter:
    """The evictable tasks of the preemptor's own job; of best-effort tasks as above."""
    job, best_effort = preemptor.job, preemptor.best_effort

    def accepts(task: Task) -> bool:
        return (
            task.job is job
            and task.preemptable
            and task.status in PREEMPTABLE_STATUSES
            and (task.best_effort or not best_effort)
        )

    return accepts


def of_other_queues(session: Session, reclaimer: Job) -> TaskFilter:
    """Running preemptable tasks of other queues that are reclaimable."""
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
    """Per node, the tasks that may be evicted and the sum of their requests.

    On every node they are in one order for the whole action: lowest job priority first, then the
    youngest job, then the job's last task. The order matters to plugins that allow a number of
    victims and take them from the front of the list.
    """

    __slots__ = ("_accepts", "_cursor", "_nodes", "_rank", "count", "tasks", "total")

    def __init__(self, session: Session, jobs: Iterable[Job], accepts: TaskFilter) -> None:
        """``jobs``: every job whose tasks may ever be accepted."""
        nodes = self._nodes = session.nodes
        self._accepts = accepts
        self._cursor = RowCursor(nodes, at_end=True)
        self._rank: dict[str, int] = {}
        self.tasks: list[list[Task]] = [[] for _ in nodes.names]
        self.total = np.zeros(nodes.allocatable.shape, np.int64)
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        for task in _first_victim_first(session, jobs):
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


def _first_victim_first(session: Session, jobs: Iterable[Job]) -> Iterator[Task]:
    by_name = sorted(jobs, key=lambda job: job.uid, reverse=True)
    for job in sorted(by_name, key=lambda job: (job.priority, -job.created)):
        yield from reversed(session.order.sorted_tasks(job.tasks.values()))


class EvictableByQueue:
    """The evictable tasks of each queue, and of all reclaimable queues together."""

    def __init__(self, session: Session, statuses: Iterable[TaskStatus]) -> None:
        self._session = session
        self._statuses = frozenset(statuses)
        self._caches = session.uses("victims")
        self._by_queue: dict[str, Evictable] = {}
        self._reclaimable: Evictable | None = None

    def of(self, queue: str) -> Evictable:
        evictable = self._by_queue.get(queue) if self._caches else None
        if evictable is None:
            evictable = self._by_queue[queue] = self._build(lambda job: job.queue == queue)
        return evictable.refreshed()

    def reclaimable(self) -> Evictable:
        evictable = self._reclaimable if self._caches else None
        if evictable is None:
            queues = self._session.queues
            evictable = self._build(lambda job: queues[job.queue].reclaimable)
            self._reclaimable = evictable
        return evictable.refreshed()

    def _build(self, covers: Callable[[Job], bool]) -> Evictable:
        statuses = self._statuses

        def accepts(task: Task) -> bool:
            job = task.job
            return job is not None and covers(job) and task.preemptable and task.status in statuses

        jobs = [job for job in self._session.jobs.values() if covers(job)]
        return Evictable(self._session, jobs, accepts)
