"""The leader of a Kubeflow training job is placed first and evicted last."""

from __future__ import annotations

from pumice import Task
from pumice_builtin_plugins.kube.leader_order import LeaderOrder

_ROLE = "training.kubeflow.org/job-role"
_LEADERS = frozenset({"master", "launcher"})


class Kubeflow(LeaderOrder):
    """Tasks with the role master or launcher before the other tasks of their job."""

    def follows(self, task: Task) -> bool:
        return task.labels.get(_ROLE) not in _LEADERS
