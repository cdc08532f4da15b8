"""Tasks counted by status: what a job and a sub-job have in common."""

from __future__ import annotations

from operator import attrgetter
from types import MappingProxyType
from typing import cast

from pumice.model.task import IS_READY, Task, TaskStatus

_PENDING, _PIPELINED, _RELEASING = (
    TaskStatus.PENDING,
    TaskStatus.PIPELINED,
    TaskStatus.RELEASING,
)
_STATUSES = len(TaskStatus)
_by_key = attrgetter("key")
NO_TASKS = cast("dict[str, Task]", MappingProxyType({}))
"""Shared by the statuses that no task has had, which are most: saves a dict for each."""


class Members:
    """Tasks counted by status: what a job and a sub-job have in common."""

    __slots__ = ("by_status", "min_available", "pending_best_effort", "ready_count", "tasks", "uid")

    def __init__(self, uid: str, min_available: int) -> None:
        self.uid = uid
        """``namespace/name`` of the job, with the name of the part for a sub-job."""
        self.min_available = min_available
        """How many tasks must run together (minAvailable)."""
        self.tasks: dict[str, Task] = {}
        """The tasks by uid."""
        self.by_status: list[dict[str, Task]] = [NO_TASKS] * _STATUSES
        """By status: the tasks that have it, by uid. Read it again after a change."""
        self.pending_best_effort = 0
        """How many pending tasks request nothing."""
        self.ready_count = 0
        """Tasks that hold their request on a node, or have succeeded."""

    def _enter(self, task: Task, status: TaskStatus) -> None:
        tasks = self.by_status[status]
        if tasks is NO_TASKS:
            tasks = self.by_status[status] = {}
        tasks[task.uid] = task
        if IS_READY[status]:
            self.ready_count += 1
        elif status == _PENDING and task.best_effort:
            self.pending_best_effort += 1

    def sort_by_status(self) -> None:
        """Sort the tasks by the statuses that they have now."""
        self.by_status = [NO_TASKS] * _STATUSES
        self.pending_best_effort = self.ready_count = 0
        for task in self.tasks.values():
            self._enter(task, task.status)

    def count(self, *statuses: TaskStatus) -> int:
        """How many tasks have one of these statuses."""
        by_status, count = self.by_status, 0
        for status in statuses:
            count += len(by_status[status])
        return count

    def having(self, *statuses: TaskStatus) -> list[Task]:
        """The tasks in these statuses, by status and name: undo does not change the order."""
        by_status = self.by_status
        having: list[Task] = []
        for status in statuses:
            tasks = by_status[status]
            if tasks:
                having += tasks.values() if len(tasks) == 1 else sorted(tasks.values(), key=_by_key)
        return having

    @property
    def pending(self) -> list[Task]:
        """The pending tasks, by name."""
        return self.having(_PENDING)

    @property
    def waiting_count(self) -> int:
        """Tasks that are pipelined."""
        return len(self.by_status[_PIPELINED])

    @property
    def valid_count(self) -> int:
        """Tasks that are placed, done, pipelined or pending."""
        pending, pipelined = self.by_status[_PENDING], self.by_status[_PIPELINED]
        return self.ready_count + len(pending) + len(pipelined)

    @property
    def allocated_count(self) -> int:
        """Tasks that hold their request on a node."""
        _, allocated, _, binding, bound, running, _, _, _, _ = self.by_status
        return len(allocated) + len(binding) + len(bound) + len(running)

    @property
    def scheduled_count(self) -> int:
        """Tasks that run, are bound, or are done."""
        _, _, _, _, bound, running, _, succeeded, failed, _ = self.by_status
        return len(bound) + len(running) + len(succeeded) + len(failed)

    @property
    def releasing_scheduled_count(self) -> int:
        """Tasks on a node that are being evicted."""
        releasing = self.by_status[_RELEASING]
        return sum(1 for task in releasing.values() if task.node) if releasing else 0

    def is_ready(self) -> bool:
        """Whether enough tasks are placed or done to meet minAvailable."""
        return self.ready_count + self.pending_best_effort >= self.min_available

    def is_pipelined(self) -> bool:
        """Whether enough tasks are placed, done or pipelined to meet minAvailable."""
        held = self.ready_count + len(self.by_status[_PIPELINED])
        return held + self.pending_best_effort >= self.min_available

    def is_starving(self) -> bool:
        """Whether placed and pipelined tasks are fewer than minAvailable."""
        return self.ready_count + len(self.by_status[_PIPELINED]) < self.min_available
