"""Topology spread constraints: the hard ones as a filter, the others as a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from pumice import Code, Inventory, Pod, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.node_affinity import required_nodes
from pumice_builtin_plugins.kube.pod_counts import PodCount, PodCounts
from pumice_builtin_plugins.kube.pod_terms import canonical, selector_with_label_keys
from pumice_builtin_plugins.kube.taints import TaintGroups

HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_REASON = "node(s) didn't match pod topology spread constraints"
SKEWED = STATUSES.id(_REASON)
UNLABELLED = STATUSES.id(f"{_REASON} (missing required label)", Code.UNRESOLVABLE)
_HARD = "DoNotSchedule"
_UNBOUNDED = 2**31 - 1


class Constraint:
    """One topology spread constraint of a pod."""

    __slots__ = (
        "honours_affinity",
        "honours_taints",
        "key",
        "max_skew",
        "min_domains",
        "namespace",
        "selector",
    )

    def __init__(self, raw: Mapping[str, Any], pod: Pod) -> None:
        self.key: str = raw.get("topologyKey") or ""
        self.max_skew: int = raw.get("maxSkew") or 1
        self.min_domains: int = raw.get("minDomains") or 1
        self.namespace = pod.namespace
        self.selector = selector_with_label_keys(raw, pod.labels)
        self.honours_affinity = (raw.get("nodeAffinityPolicy") or "Honor") == "Honor"
        self.honours_taints = (raw.get("nodeTaintsPolicy") or "Ignore") == "Honor"

    def selects(self, task: Task) -> bool:
        """Whether the constraint selects a pod; a terminating pod is not counted."""
        return (
            task.pod.deleted is None
            and task.namespace == self.namespace
            and matches_selector(self.selector, task.labels)
        )

    def count(self, pod_counts: PodCounts) -> PodCount:
        """The pods that the constraint selects."""
        key: Hashable = ("spread", self.namespace, canonical(self.selector))
        return pod_counts.count(key, lambda task: 1 if self.selects(task) else 0)


def constraints(pod: Pod, *, hard: bool) -> list[Constraint]:
    """The pod's own constraints of one kind."""
    return [
        Constraint(raw, pod)
        for raw in pod.topology_spread
        if (raw.get("whenUnsatisfiable", _HARD) == _HARD) == hard
    ]


class _Spread:
    def __init__(self, pod_counts: PodCounts, taint_groups: TaintGroups) -> None:
        self.pod_counts = pod_counts
        self.columns = pod_counts.columns
        self._taint_groups = taint_groups

    def _counted(self, constraint: Constraint, task: Task) -> np.ndarray:
        """Mask over all nodes: those that nodeAffinityPolicy and nodeTaintsPolicy let count."""
        mask = self.columns.all()
        if constraint.honours_affinity:
            allowed = required_nodes(task.pod, self.columns)
            if allowed is not None:
                mask &= allowed
        if constraint.honours_taints:
            mask &= ~self._taint_groups.untolerated(task.pod.tolerations)
        return mask

    def _labelled(self, listed: Iterable[Constraint]) -> np.ndarray:
        """Mask over all nodes: those that have the labels of all constraints."""
        mask = self.columns.all()
        for constraint in listed:
            mask &= self.columns.column(constraint.key).present
        return mask

    def _by_domain(
        self, constraint: Constraint, where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Per domain: matching pods on the nodes of the mask, and whether it has such a node."""
        column = self.columns.column(constraint.key)
        ids, size = column.ids[where], column.missing + 1
        pods = np.bincount(ids, constraint.count(self.pod_counts).by_node[where], size)
        return pods.astype(np.int64), np.bincount(ids, minlength=size) > 0


class SpreadFilter(_Spread):
    """No domain may have more than ``maxSkew`` pods above the domain with the fewest."""

    def statuses(self, task: Task) -> np.ndarray:
        """The status of every node, as the cluster is."""
        hard = constraints(task.pod, hard=True)
        result = np.zeros(len(self.pod_counts.table), np.int64)
        labelled = self._labelled(hard)
        for constraint in hard:
            column = self.columns.column(constraint.key)
            where = labelled & self._counted(constraint, task)
            pods, domains = self._by_domain(constraint, where)
            fewest = int(pods[domains].min()) if domains.any() else _UNBOUNDED
            if int(domains.sum()) < constraint.min_domains:
                fewest = 0
            skew = pods[column.ids] + int(constraint.selects(task)) - fewest
            status = np.where(skew > constraint.max_skew, SKEWED, 0)
            status[~column.present] = UNLABELLED
            result = np.where(result == 0, status, result)
        return result


class SpreadScore(_Spread):
    """Nodes whose domains have fewer matching pods score higher.

    A pod without constraints that a Service selects has kube-scheduler's default ones, over hosts
    and zones.
    """

    def __init__(
        self, pod_counts: PodCounts, taint_groups: TaintGroups, inventory: Inventory
    ) -> None:
        super().__init__(pod_counts, taint_groups)
        services: dict[str, list[Mapping[str, str]]] = {}
        for raw in inventory.others.get("Service", {}).values():
            selector = (raw.get("spec") or {}).get("selector")
            if selector:
                namespace = (raw.get("metadata") or {}).get("namespace") or "default"
                services.setdefault(namespace, []).append(selector)
        self._services = services
        keys = {
            key for selectors in services.values() for selector in selectors for key in selector
        }
        self._label_keys = tuple(sorted(keys))

    def signature(self, task: Task) -> Hashable:
        """What decides which services select the task: namespace and some labels."""
        if not self._services:
            return None
        return (task.namespace, *[task.labels.get(key) for key in self._label_keys])

    def concerns(self, task: Task) -> bool:
        """Whether there is any constraint to score by."""
        return bool(self._constraints(task.pod)[0])

    def _constraints(self, pod: Pod) -> tuple[list[Constraint], bool]:
        """The constraints to score by, and whether they are the pod's own."""
        if pod.topology_spread:
            return constraints(pod, hard=False), True
        labels: dict[str, str] = {}
        for selector in self._services.get(pod.namespace, ()):
            if selector.items() <= pod.labels.items():
                labels.update(selector)
        if not labels:
            return [], False
        return [
            Constraint(
                {"topologyKey": key, "maxSkew": skew, "labelSelector": {"matchLabels": labels}}, pod
            )
            for key, skew in ((HOSTNAME, 3), (_ZONE, 5))
        ], False

    def scores(self, task: Task, take: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """0 to 100, relative to each other, for the nodes that ``take`` selects of a column."""
        listed, own = self._constraints(task.pod)
        # As in kube-scheduler, nodes need all labels for the pod's own constraints only.
        labelled = self._labelled(listed) if own else self.columns.all()
        asked = np.zeros(len(labelled), bool)
        asked[take(self.pod_counts.table.all_rows)] = True
        asked &= labelled
        total = np.zeros(len(labelled))
        for constraint in listed:
            total += self._one(constraint, task, asked, labelled)
        # Go rounds half up; numpy would round half to even.
        raw = np.floor(take(total) + 0.5).astype(np.int64)
        scored = take(asked)
        result = np.zeros(len(raw))
        if scored.any():
            most, least = int(raw[scored].max()), int(raw[scored].min())
            scaled = 100 * (most + least - raw[scored]) // most if most else 100
            result[scored] = scaled
        return result

    def _one(
        self, constraint: Constraint, task: Task, asked: np.ndarray, labelled: np.ndarray
    ) -> np.ndarray:
        """What one constraint adds for every node, more for domains with more pods."""
        column = self.columns.column(constraint.key)
        here = asked & column.present
        if constraint.key == HOSTNAME:
            domains = int(asked.sum())
            pods = constraint.count(self.pod_counts).by_node
        else:
            known = np.zeros(column.missing + 1, bool)
            known[column.ids[here]] = True
            domains = int(known.sum())
            where = labelled & self._counted(constraint, task)
            counts, _ = self._by_domain(constraint, where)
            pods = np.where(known, counts, 0)[column.ids]
        score = pods * math.log(domains + 2) + (constraint.max_skew - 1)
        return np.where(column.present, score, 0.0)
