"""The head of a Ray cluster is placed first and evicted last.

kubeflow has the same rule for another label; a shared base would be longer than the rule.
"""

from __future__ import annotations

from pumice import Plugin, Task, hookimpl

_NODE_TYPE = "ray.io/node-type"


class Ray(Plugin):
    """Head tasks before the other tasks of their job."""

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        return _is_follower(left) - _is_follower(right)

    @hookimpl
    def task_order_key(self, task: Task) -> bool:
        return _is_follower(task)


def _is_follower(task: Task) -> bool:
    return task.labels.get(_NODE_TYPE) != "head"
