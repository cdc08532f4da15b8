"""The leader of a Kubeflow training job is placed first and evicted last."""

from __future__ import annotations

from pumice import Plugin, Task, hookimpl

_ROLE = "training.kubeflow.org/job-role"
_LEADERS = frozenset({"master", "launcher"})


class Kubeflow(Plugin):
    """Tasks with the role master or launcher before the other tasks of their job."""

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        return _is_follower(left) - _is_follower(right)

    @hookimpl
    def task_order_key(self, task: Task) -> bool:
        return _is_follower(task)


def _is_follower(task: Task) -> bool:
    return task.labels.get(_ROLE) not in _LEADERS
