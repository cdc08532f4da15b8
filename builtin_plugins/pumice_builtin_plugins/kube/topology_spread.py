"""Topology spread constraints: the hard ones as a filter, the others as a score."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from pumice import Code, Inventory, Pod, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.node_affinity import required_nodes
from pumice_builtin_plugins.kube.pod_counts import PodCounts, Tally
from pumice_builtin_plugins.kube.pod_terms import canonical, pinned
from pumice_builtin_plugins.kube.taints import TaintGroups

HOSTNAME = "kubernetes.io/hostname"
_ZONE = "topology.kubernetes.io/zone"
_REASON = "node(s) didn't match pod topology spread constraints"
SKEWED = STATUSES.id(_REASON)
UNLABELLED = STATUSES.id(f"{_REASON} (missing required label)", Code.UNRESOLVABLE)
_HARD = "DoNotSchedule"
_UNBOUNDED = 2**31 - 1


class Constraint:
    """One constraint, with the selector of the pods that are to be spread."""

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
        self.selector = pinned(raw, pod.labels)
        self.honours_affinity = (raw.get("nodeAffinityPolicy") or "Honor") == "Honor"
        self.honours_taints = (raw.get("nodeTaintsPolicy") or "Ignore") == "Honor"

    def counts(self, task: Task) -> bool:
        """Whether a pod is one of those to be spread; one that is leaving no longer is."""
        return (
            task.pod.deleted is None
            and task.namespace == self.namespace
            and matches_selector(self.selector, task.labels)
        )

    def tally(self, presence: PodCounts) -> Tally:
        key: Hashable = ("spread", self.namespace, canonical(self.selector))
        return presence.tally(key, lambda task: 1 if self.counts(task) else 0)


def constraints(pod: Pod, *, hard: bool) -> list[Constraint]:
    """The pod's own constraints of one kind."""
    return [
        Constraint(raw, pod)
        for raw in pod.topology_spread
        if (raw.get("whenUnsatisfiable", _HARD) == _HARD) == hard
    ]


class _Spread:
    def __init__(self, presence: PodCounts, taints: TaintGroups) -> None:
        self.presence = presence
        self.columns = presence.columns
        self._taints = taints

    def _counted(self, constraint: Constraint, task: Task) -> np.ndarray:
        """Mask over all nodes: those that the constraint's policies take into account."""
        mask = self.columns.all()
        if constraint.honours_affinity:
            allowed = required_nodes(task.pod, self.columns)
            if allowed is not None:
                mask &= allowed
        if constraint.honours_taints:
            mask &= ~self._taints.barred(task.pod.tolerations)
        return mask

    def _labelled(self, found: Iterable[Constraint]) -> np.ndarray:
        """Mask over all nodes: those that have the labels of all constraints."""
        mask = self.columns.all()
        for constraint in found:
            mask &= self.columns.column(constraint.key).present
        return mask

    def _by_domain(
        self, constraint: Constraint, where: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Per domain: matching pods on the nodes of the mask, and whether it has such a node."""
        column = self.columns.column(constraint.key)
        ids, size = column.ids[where], column.missing + 1
        pods = np.bincount(ids, constraint.tally(self.presence).rows[where], size)
        return pods.astype(np.int64), np.bincount(ids, minlength=size) > 0


class SpreadFilter(_Spread):
    """No domain may have more than ``maxSkew`` pods beyond the domain with the fewest."""

    def statuses(self, task: Task) -> np.ndarray:
        """The objection of every node, as the cluster stands."""
        found = constraints(task.pod, hard=True)
        result = np.zeros(len(self.presence.table), np.int64)
        labelled = self._labelled(found)
        for constraint in found:
            column = self.columns.column(constraint.key)
            where = labelled & self._counted(constraint, task)
            pods, domains = self._by_domain(constraint, where)
            fewest = int(pods[domains].min()) if domains.any() else _UNBOUNDED
            if int(domains.sum()) < constraint.min_domains:
                fewest = 0
            skew = pods[column.ids] + int(constraint.counts(task)) - fewest
            answer = np.where(skew > constraint.max_skew, SKEWED, 0)
            answer[~column.present] = UNLABELLED
            result = np.where(result == 0, answer, result)
        return result


class SpreadScore(_Spread):
    """Nodes whose domains have fewer matching pods score higher.

    Pods that a Service selects are spread over hosts and zones without asking for it.
    """

    def __init__(self, presence: PodCounts, taints: TaintGroups, inventory: Inventory) -> None:
        super().__init__(presence, taints)
        services: dict[str, list[Mapping[str, str]]] = {}
        for raw in inventory.others.get("Service", {}).values():
            selector = (raw.get("spec") or {}).get("selector")
            if selector:
                namespace = (raw.get("metadata") or {}).get("namespace") or "default"
                services.setdefault(namespace, []).append(selector)
        self._services = services
        keys = {key for found in services.values() for selector in found for key in selector}
        self._label_keys = tuple(sorted(keys))

    def signature(self, task: Task) -> Hashable:
        """As much of a task as tells which services select it."""
        if not self._services:
            return None
        return (task.namespace, *[task.labels.get(key) for key in self._label_keys])

    def concerns(self, task: Task) -> bool:
        return bool(self._constraints(task.pod)[0])

    def _constraints(self, pod: Pod) -> tuple[list[Constraint], bool]:
        """The constraints to score by, and whether the pod gave them itself."""
        if pod.topology_spread:
            return constraints(pod, hard=False), True
        wanted: dict[str, str] = {}
        for selector in self._services.get(pod.namespace, ()):
            if selector.items() <= pod.labels.items():
                wanted.update(selector)
        if not wanted:
            return [], False
        return [
            Constraint(
                {"topologyKey": key, "maxSkew": skew, "labelSelector": {"matchLabels": wanted}}, pod
            )
            for key, skew in ((HOSTNAME, 3), (_ZONE, 5))
        ], False

    def scores(self, task: Task, pick: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """0 to 100 for each of the nodes that ``pick`` takes from a column, relative to them."""
        found, strict = self._constraints(task.pod)
        labelled = self._labelled(found) if strict else self.columns.all()
        asked = np.zeros(len(labelled), bool)
        asked[pick(self.presence.table.all_rows)] = True
        asked &= labelled
        total = np.zeros(len(labelled))
        for constraint in found:
            total += self._one(constraint, task, asked, labelled)
        # half up, as scores are never negative; numpy would round halves to even
        raw = np.floor(pick(total) + 0.5).astype(np.int64)
        rated = pick(asked)
        result = np.zeros(len(raw))
        if rated.any():
            most, least = int(raw[rated].max()), int(raw[rated].min())
            scaled = 100 * (most + least - raw[rated]) // most if most else 100
            result[rated] = scaled
        return result

    def _one(
        self, constraint: Constraint, task: Task, asked: np.ndarray, labelled: np.ndarray
    ) -> np.ndarray:
        """What one constraint adds for every node, more for domains with more pods."""
        column = self.columns.column(constraint.key)
        here = asked & column.present
        if constraint.key == HOSTNAME:
            domains = int(asked.sum())
            pods = constraint.tally(self.presence).rows
        else:
            known = np.zeros(column.missing + 1, bool)
            known[column.ids[here]] = True
            domains = int(known.sum())
            where = labelled & self._counted(constraint, task)
            counts, _ = self._by_domain(constraint, where)
            pods = np.where(known, counts, 0)[column.ids]
        score = pods * math.log(domains + 2) + (constraint.max_skew - 1)
        return np.where(column.present, score, 0.0)
