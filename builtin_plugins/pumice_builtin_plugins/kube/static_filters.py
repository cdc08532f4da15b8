"""Filters that depend on nothing but the node's own facts: closed nodes, labels, taints."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from pumice import Code, Pod
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.label_columns import LabelColumns
from pumice_builtin_plugins.kube.node_affinity import required_nodes
from pumice_builtin_plugins.kube.pod_terms import canonical
from pumice_builtin_plugins.kube.taints import (
    Taint,
    TaintGroups,
    first_barrier,
    tolerates_unschedulable,
)

CLOSED = STATUSES.id("node(s) were unschedulable", Code.UNRESOLVABLE)
MISMATCH = STATUSES.id("node(s) didn't match Pod's node affinity/selector", Code.UNRESOLVABLE)


class StaticFilters:
    """The first objection of every node, remembered for pods that say the same."""

    def __init__(
        self, columns: LabelColumns, taints: TaintGroups, *, affinity: bool, taints_count: bool
    ) -> None:
        self._columns = columns
        self._taints = taints
        self._closed = columns.table.fact_column(
            "closed", lambda node: node.unschedulable, lasting=True
        )
        self._affinity = affinity
        self._taints_count = taints_count
        self._known: dict[Hashable, np.ndarray] = {}

    def statuses(self, pod: Pod) -> np.ndarray:
        key = canonical(
            [dict(pod.node_selector), pod.affinity.get("nodeAffinity"), list(pod.tolerations)]
        )
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._ask(pod)
        return found

    def _ask(self, pod: Pod) -> np.ndarray:
        result = np.zeros(len(self._columns.table), np.int64)
        if self._taints_count:
            result = self._taints.column(lambda taints: _barrier(taints, pod))
        allowed = required_nodes(pod, self._columns) if self._affinity else None
        if allowed is not None:
            result[~allowed] = MISMATCH
        if self._closed.any() and not tolerates_unschedulable(pod.tolerations):
            result[self._closed] = CLOSED
        return result


def _barrier(taints: Sequence[Taint], pod: Pod) -> int:
    taint = first_barrier(taints, pod.tolerations)
    if taint is None:
        return 0
    named = f"{{{taint.get('key', '')}: {taint.get('value') or ''}}}"
    return STATUSES.id(f"node(s) had untolerated taint {named}", Code.UNRESOLVABLE)
