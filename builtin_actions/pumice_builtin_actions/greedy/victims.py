"""The tasks that may be evicted, node by node."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Self

import numpy as np

from pumice import (
    PREEMPTABLE_STATUSES,
    Job,
    RowCursor,
    Session,
    Task,
    TaskStatus,
    group_sums,
)

TaskFilter = Callable[[Task], bool]
_ORDER = "victims.order"


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


class Evictable:
    """Per node, the tasks that may be evicted and the sum of their requests.

    On every node they are in victim order (see :class:`VictimOrder`). The order matters to plugins
    that allow a number of victims and take them from the front of the list.
    """

    __slots__ = ("_accepts", "_cursor", "_nodes", "_rank", "count", "tasks", "total")

    def __init__(
        self, session: Session, order: VictimOrder, tasks: Iterable[Task], accepts: TaskFilter
    ) -> None:
        """``tasks``: every task that may ever be accepted, in this order."""
        nodes = self._nodes = session.nodes
        self._accepts = accepts
        self._rank = order.rank
        self._cursor = RowCursor(nodes, at_end=True)
        self.tasks: list[list[Task]] = [[] for _ in nodes.names]
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        for task in tasks:
            row = nodes.row_of.get(task.node)
            if row is not None and accepts(task):
                self.tasks[row].append(task)
                rows.append(row)
                vectors.append(task.vector)
        self.count = np.bincount(np.array(rows, np.intp), minlength=len(nodes))
        total = group_sums(rows, vectors, len(nodes))
        self.total = np.zeros(nodes.allocatable.shape, np.int64) if total is None else total

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


class VictimOrder:
    """One order of all tasks that may be victims, for a whole action.

    Lowest job priority first, then the youngest job, then the job's last task.
    """

    __slots__ = ("by_job", "rank")

    def __init__(self, session: Session, jobs: Iterable[Job]) -> None:
        self.by_job: dict[str, list[Task]] = {}
        """By job, in the order of the jobs: the tasks that have a node."""
        self.rank: dict[str, int] = {}
        """By task uid: its position."""
        by_name = sorted(jobs, key=lambda job: job.uid, reverse=True)
        for job in sorted(by_name, key=lambda job: (job.priority, -job.created)):
            on_nodes = [task for task in job.tasks.values() if task.node]
            if len(on_nodes) > 1:
                tasks = session.order.sorted_tasks(job.tasks.values())
                on_nodes = [task for task in reversed(tasks) if task.node]
            if on_nodes:
                self.by_job[job.uid] = on_nodes
            for task in on_nodes:
                self.rank[task.uid] = len(self.rank)

    @classmethod
    def of(cls, session: Session) -> VictimOrder:
        """That of all jobs; cached for later actions where the order of tasks cannot change."""
        order: VictimOrder | None = session.state.get(_ORDER)
        if order is None:
            order = cls(session, session.jobs.values())
            if session.uses("victims") and session.order.has_task_keys:
                session.state[_ORDER] = order
        return order

    def tasks(self, jobs: Iterable[Job]) -> list[Task]:
        """The tasks of these jobs that have a node, in this order."""
        wanted = {job.uid for job in jobs}
        return [task for uid, tasks in self.by_job.items() if uid in wanted for task in tasks]


class EvictableByQueue:
    """The evictable tasks of each queue, and of all reclaimable queues together."""

    def __init__(self, session: Session, statuses: Iterable[TaskStatus]) -> None:
        self._session = session
        self._statuses = frozenset(statuses)
        self._caches = session.uses("victims")
        self._order: VictimOrder | None = None
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
        session, statuses = self._session, self._statuses
        if self._order is None or not self._caches:
            self._order = VictimOrder.of(session)

        def accepts(task: Task) -> bool:
            job = task.job
            return task.status in statuses and task.preemptable and job is not None and covers(job)

        jobs = [job for job in session.jobs.values() if covers(job)]
        return Evictable(session, self._order, self._order.tasks(jobs), accepts)
