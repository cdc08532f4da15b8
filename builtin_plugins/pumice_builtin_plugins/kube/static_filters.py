"""Filters that depend on the node's facts alone: unschedulable nodes, node affinity, taints."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from pumice import Code, Node, Pod
from pumice.kube import is_healthy
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_affinity import required_nodes
from pumice_builtin_plugins.kube.pod_terms import canonical
from pumice_builtin_plugins.kube.taints import (
    Taint,
    TaintGroups,
    first_untolerated,
    tolerates_unschedulable,
)

UNSCHEDULABLE = STATUSES.id("node(s) were unschedulable", Code.UNRESOLVABLE)
UNHEALTHY = STATUSES.id("node(s) were not healthy", Code.UNRESOLVABLE)
AFFINITY_MISMATCH = STATUSES.id(
    "node(s) didn't match Pod's node affinity/selector", Code.UNRESOLVABLE
)


class StaticFilters:
    """The first failing filter of every node, cached for pods with equal constraints."""

    def __init__(
        self,
        columns: LabelColumns,
        taint_groups: TaintGroups,
        *,
        affinity: bool,
        taints: bool,
        health: bool = False,
    ) -> None:
        """``affinity``, ``taints``, ``health``: whether these filters are on."""
        self._columns = columns
        self._taint_groups = taint_groups
        self._unschedulable = columns.table.fact_column(
            "closed", lambda node: node.unschedulable, lasting=True
        )
        self._unhealthy = (
            columns.table.fact_column("unhealthy", _is_unhealthy, lasting=True) if health else None
        )
        self._affinity = affinity
        self._taints = taints
        self._statuses: dict[Hashable, np.ndarray] = {}

    def statuses(self, pod: Pod) -> np.ndarray:
        """The status of every node."""
        key = canonical(
            [dict(pod.node_selector), pod.affinity.get("nodeAffinity"), list(pod.tolerations)]
        )
        statuses = self._statuses.get(key)
        if statuses is None:
            statuses = self._statuses[key] = self._filter(pod)
        return statuses

    def _filter(self, pod: Pod) -> np.ndarray:
        result = np.zeros(len(self._columns.table), np.int64)
        if self._taints:
            result = self._taint_groups.column(lambda taints: _taint_status(taints, pod))
        allowed = required_nodes(pod, self._columns) if self._affinity else None
        if allowed is not None:
            result[~allowed] = AFFINITY_MISMATCH
        if self._unschedulable.any() and not tolerates_unschedulable(pod.tolerations):
            result[self._unschedulable] = UNSCHEDULABLE
        if self._unhealthy is not None:
            result[self._unhealthy] = UNHEALTHY
        return result


def _is_unhealthy(node: Node) -> bool:
    """Whether the conditions of a node are bad, cordoned or not."""
    return not is_healthy(replace(node, unschedulable=False))


def _taint_status(taints: Sequence[Taint], pod: Pod) -> int:
    taint = first_untolerated(taints, pod.tolerations)
    if taint is None:
        return 0
    named = f"{{{taint.get('key', '')}: {taint.get('value') or ''}}}"
    return STATUSES.id(f"node(s) had untolerated taint {named}", Code.UNRESOLVABLE)
