"""The tasks that may be evicted, node by node."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
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
_FEW_TASKS = 24
"""Up to so many vectors are added one by one (measured)."""


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

    __slots__ = ("_accepts", "_cursor", "_on_row", "count", "tasks", "total")

    def __init__(self, session: Session, tasks: Iterable[Task], accepts: TaskFilter) -> None:
        """``tasks``: every task that may ever be accepted, in this order.

        A task that may be accepted again, once an eviction is undone, is back on its node then.
        """
        nodes = session.nodes
        self._accepts = accepts
        self._cursor = RowCursor(nodes, at_end=True)
        self._on_row: dict[int, list[Task]] = {}
        """By row: every task there that may ever be accepted."""
        self.tasks: list[list[Task]] = [[] for _ in nodes.names]
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        row_of, on_row = nodes.row_of, self._on_row
        for task in tasks:
            row = row_of.get(task.node)
            if row is None:
                continue
            if row in on_row:
                on_row[row].append(task)
            else:
                on_row[row] = [task]
            if accepts(task):
                self.tasks[row].append(task)
                rows.append(row)
                vectors.append(task.vector)
        self.count = np.bincount(np.array(rows, np.intp), minlength=len(nodes))
        if len(rows) > _FEW_TASKS:
            total = group_sums(rows, vectors, len(nodes))
            assert total is not None
            self.total = total
        else:
            self.total = np.zeros(nodes.allocatable.shape, np.int64)
            for row, vector in zip(rows, vectors, strict=True):
                self.total[row] += vector

    def refreshed(self) -> Self:
        """Itself, brought up to date with the nodes."""
        for row in self._cursor.changed_rows():
            self._refresh(row)
        return self

    @property
    def any_tasks(self) -> bool:
        """Whether there is an evictable task on any node."""
        return bool(self.count.any())

    def _refresh(self, row: int) -> None:
        tasks = list(filter(self._accepts, self._on_row.get(row, ())))
        if tasks != self.tasks[row]:
            self.tasks[row] = tasks
            self.count[row] = len(tasks)
            self.total[row] = sum(task.vector for task in tasks)


class VictimOrder:
    """One order of all tasks that may be victims, for a whole action.

    Lowest job priority first, then the youngest job, then the job's last task.
    """

    __slots__ = ("_by_queue", "by_job")

    def __init__(self, session: Session, jobs: Iterable[Job]) -> None:
        self.by_job: dict[str, list[Task]] = {}
        """By job, in the order of the jobs: the tasks that have a node."""
        self._by_queue: dict[str, list[Task]] = {}
        placed = [
            (job, on_nodes)
            for job in jobs
            if (on_nodes := [task for task in job.tasks.values() if task.node])
        ]
        placed.sort(key=lambda entry: entry[0].uid, reverse=True)
        placed.sort(key=lambda entry: (entry[0].priority, -entry[0].created))
        for job, on_nodes in placed:
            if len(on_nodes) > 1:
                tasks = session.order.sorted_tasks(job.tasks.values())
                on_nodes = [task for task in reversed(tasks) if task.node]
            self.by_job[job.uid] = on_nodes
            self._by_queue.setdefault(job.queue, []).extend(on_nodes)

    @classmethod
    def of(cls, session: Session) -> VictimOrder:
        """That of all jobs; cached for later actions where the order of tasks cannot change."""
        order: VictimOrder | None = session.state.get(_ORDER)
        if order is None:
            order = cls(session, session.jobs.values())
            if session.uses("victims") and session.order.has_task_keys:
                session.state[_ORDER] = order
        return order

    def tasks(self, queues: Container[str]) -> list[Task]:
        """The tasks of these queues that have a node, in this order."""
        return [
            task for tasks in self.by_job.values() if tasks[0].queue in queues for task in tasks
        ]

    def tasks_of(self, queue: str) -> list[Task]:
        """The tasks of one queue that have a node, in this order."""
        return self._by_queue.get(queue, [])


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
            tasks = self._victim_order().tasks_of(queue)
            evictable = self._by_queue[queue] = Evictable(self._session, tasks, self._accepts)
        return evictable.refreshed()

    def reclaimable(self) -> Evictable:
        evictable = self._reclaimable if self._caches else None
        if evictable is None:
            session = self._session
            queues = {name for name, queue in session.queues.items() if queue.reclaimable}
            tasks = self._victim_order().tasks(queues)
            evictable = self._reclaimable = Evictable(session, tasks, self._accepts)
        return evictable.refreshed()

    def _victim_order(self) -> VictimOrder:
        if self._order is None or not self._caches:
            self._order = VictimOrder.of(self._session)
        return self._order

    def _accepts(self, task: Task) -> bool:
        return task.status in self._statuses and task.preemptable
