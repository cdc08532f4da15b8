"""Tasks of a job in the order of their priority label."""

from __future__ import annotations

import re

from pumice import Plugin, Task, hookimpl

LABEL = "kai.scheduler/task-priority"
_INTEGER = re.compile(r"[+-]?[0-9]+")

_NUMBER, _MALFORMED, _UNLABELLED = range(3)


class TaskOrder(Plugin):
    """Tasks by the label ``kai.scheduler/task-priority``, the higher number first.

    Tasks with a malformed label come next, tasks without the label last. List it after kubeflow
    and ray, whose ties it then breaks.
    """

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        l_key, r_key = self.task_order_key(left), self.task_order_key(right)
        return (l_key > r_key) - (l_key < r_key)

    @hookimpl
    def task_order_key(self, task: Task) -> tuple[int, int]:
        label = task.labels.get(LABEL)
        if label is None:
            return _UNLABELLED, 0
        if not _INTEGER.fullmatch(label):
            return _MALFORMED, 0
        return _NUMBER, -int(label)
