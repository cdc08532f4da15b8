"""Order the tasks of a job by their role: the leader, which the others connect to, goes first."""

from __future__ import annotations

from abc import abstractmethod

from pumice import Plugin, Task, hookimpl


class LeaderOrder(Plugin):
    """A plugin that places the leaders of a job first."""

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        return self.follows(left) - self.follows(right)

    @hookimpl
    def task_order_key(self, task: Task) -> bool:
        return self.follows(task)

    @abstractmethod
    def follows(self, task: Task) -> bool:
        """Whether the task is no leader of its job."""
