"""Scores nodes by preferred pod affinity and anti-affinity."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from pumice import NodeView, Plugin, Scope, Task, hookimpl
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_pods import NodePods
from pumice_builtin_plugins.kube.pod_affinity import AffinityScore, tasks_with_affinity
from pumice_builtin_plugins.kube.pod_terms import Namespaces, TermReader
from pumice_builtin_plugins.kube.shortcut import POD_COUNTS

_SCALE = 100_000.0


class PodAffinity(Plugin):
    """Score a node by the weights of the preferences it satisfies, times 100 000.

    The task's preferences for existing pods count, and those of existing pods for the task. A pod
    that is being evicted still counts. As in KAI, a task without any such score when first asked
    is not scored again in the cycle.
    """

    shortcuts = (POD_COUNTS,)

    @hookimpl
    def on_session_open(self) -> None:
        cluster = self.session.cluster
        self._affinity = AffinityScore(
            NodePods(LabelColumns(self.session.nodes), cached=self.session.uses("pod_counts")),
            TermReader(Namespaces(cluster.inventory)),
            tasks_with_affinity(cluster.snapshot_cache),
        )
        self._skipped: set[str] = set()

    def class_key(self, task: Task) -> Hashable:
        """Tasks that differ in this are preferred by different pods."""
        return self._affinity.signature(task)

    @hookimpl
    def node_pre_order(self, task: Task) -> None:
        if self._affinity.concerns(task) and not self._affinity.totals(task).any():
            self._skipped.add(task.uid)

    def _scope(self, task: Task) -> Scope:
        return "cluster" if self._affinity.concerns(task) else "static"

    @hookimpl(scope=_scope)
    def batch_node_order(self, task: Task, nodes: NodeView) -> np.ndarray | None:
        if task.uid in self._skipped or not self._affinity.concerns(task):
            return None
        return nodes.take(self._affinity.totals(task)) * _SCALE
