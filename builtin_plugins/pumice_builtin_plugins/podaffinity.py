"""Heed preferred pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pumice import NodeView, Plugin, Scope, Task, hookimpl
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import NodePods
from pumice_builtin_plugins.kube.pod_affinity import AffinityScore, tasks_with_pod_affinity
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS

_SCALE = 100_000.0


class PodAffinity(Plugin):
    """Score a node by the weights of the preferences it fulfils, times 100 000.

    Preferences of the task for pods that are there count, and those of pods that are there for
    the task. A pod that is being evicted is still there. A task about which there was once
    nothing to say is not looked at again in the cycle.
    """

    shortcuts = (POD_COUNTS,)

    @hookimpl
    def on_session_open(self) -> None:
        cluster = self.session.cluster
        self._affinity = AffinityScore(
            NodePods(LabelColumns(self.session.nodes), remembers=self.session.uses("pod_counts")),
            TermReader(Namespaces(cluster.inventory)),
            tasks_with_pod_affinity(cluster.snapshot_cache),
        )
        self._passed_over: set[str] = set()

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are wanted by different pods."""
        return self._affinity.signature(task)

    @hookimpl
    def node_pre_order(self, task: Task) -> None:
        if self._affinity.concerns(task) and not self._affinity.totals(task).any():
            self._passed_over.add(task.uid)

    def _reach(self, task: Task) -> Scope:
        return "cluster" if self._affinity.concerns(task) else "static"

    @hookimpl(scope=_reach)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if task.uid in self._passed_over or not self._affinity.concerns(task):
            return None
        return nodes.take(self._affinity.totals(task)) * _SCALE
