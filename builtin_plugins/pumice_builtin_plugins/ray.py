"""The head of a Ray cluster is placed first and evicted last.

kubeflow has the same rule for another label; a shared base would be longer than the rule.
"""

from __future__ import annotations

from pumice import Task
from pumice_builtin_plugins.kube.leader_order import LeaderOrder

_NODE_TYPE = "ray.io/node-type"


class Ray(LeaderOrder):
    """Head tasks before the other tasks of their job."""

    def follows(self, task: Task) -> bool:
        return task.labels.get(_NODE_TYPE) != "head"
