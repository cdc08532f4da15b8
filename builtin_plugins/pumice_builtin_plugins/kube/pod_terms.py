"""Terms of pod affinity and anti-affinity, as they are read from pods."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from pumice import Inventory, Pod, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.node_affinity import PREFERRED, REQUIRED

_NAME_LABEL = "kubernetes.io/metadata.name"


class Namespaces:
    """Labels of namespaces; one without an object still has the label with its name."""

    def __init__(self, inventory: Inventory) -> None:
        self._known = {
            name: (raw.get("metadata") or {}).get("labels") or {}
            for name, raw in inventory.others.get("Namespace", {}).items()
        }

    def labels(self, name: str) -> Mapping[str, str]:
        return {_NAME_LABEL: name, **self._known.get(name, {})}


class AffinityTerm:
    """One term: it selects pods by namespace and labels, and names a topology key."""

    __slots__ = ("_namespaces", "key", "names", "namespace_selector", "selector", "topology_key")

    def __init__(self, raw: Mapping[str, Any], pod: Pod, namespaces: Namespaces) -> None:
        self.topology_key: str = raw.get("topologyKey") or ""
        self.selector = selector_with_label_keys(raw, pod.labels)
        self.namespace_selector: Mapping[str, Any] | None = raw.get("namespaceSelector")
        names = raw.get("namespaces") or ()
        if not names and self.namespace_selector is None:
            names = (pod.namespace,)
        self.names = frozenset(names)
        self._namespaces = namespaces
        self.key: Hashable = (
            self.topology_key,
            canonical(self.selector),
            canonical(self.namespace_selector),
            self.names,
        )

    def matches(self, task: Task) -> bool:
        """Whether the term selects the task's pod."""
        namespace = task.namespace
        if namespace not in self.names and not matches_selector(
            self.namespace_selector, self._namespaces.labels(namespace)
        ):
            return False
        return matches_selector(self.selector, task.labels)

    def label_keys(self) -> Iterable[str]:
        """The labels that the selector looks at."""
        selector = self.selector or {}
        yield from selector.get("matchLabels") or ()
        for expression in selector.get("matchExpressions") or ():
            yield expression.get("key", "")

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffinityTerm) and self.key == other.key


class PodTerms(NamedTuple):
    """All pod affinity of one pod; preferred terms have a weight, negative for anti-affinity."""

    affinity: tuple[AffinityTerm, ...] = ()
    anti_affinity: tuple[AffinityTerm, ...] = ()
    preferred: tuple[tuple[AffinityTerm, int], ...] = ()


NO_TERMS = PodTerms()


def read_terms(pod: Pod, namespaces: Namespaces) -> PodTerms:
    affinity = pod.affinity.get("podAffinity") or {}
    anti_affinity = pod.affinity.get("podAntiAffinity") or {}
    if not affinity and not anti_affinity:
        return NO_TERMS

    def required(part: Mapping[str, Any]) -> tuple[AffinityTerm, ...]:
        return tuple(AffinityTerm(raw, pod, namespaces) for raw in part.get(REQUIRED) or ())

    preferred = [
        (
            AffinityTerm(raw.get("podAffinityTerm") or {}, pod, namespaces),
            sign * (raw.get("weight") or 0),
        )
        for part, sign in ((affinity, 1), (anti_affinity, -1))
        for raw in part.get(PREFERRED) or ()
    ]
    return PodTerms(required(affinity), required(anti_affinity), tuple(preferred))


class TermReader:
    """The terms of every pod; pods with equal affinity share them."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._by_constraints: dict[Hashable, PodTerms] = {}
        self._by_uid: dict[str, PodTerms] = {}

    def terms(self, task: Task) -> PodTerms:
        pod = task.pod
        if not pod.affinity:
            return NO_TERMS
        terms = self._by_uid.get(task.uid)
        if terms is None:
            key = (task.constraints, _label_key_values(pod))
            terms = self._by_constraints.get(key)
            if terms is None:
                terms = self._by_constraints[key] = read_terms(pod, self._namespaces)
            self._by_uid[task.uid] = terms
        return terms


def selector_with_label_keys(
    raw: Mapping[str, Any], labels: Mapping[str, str]
) -> Mapping[str, Any] | None:
    """The label selector of a term or constraint, with its matchLabelKeys and mismatchLabelKeys.

    They select pods with the same value as, or another value than, the pod that has the term.
    """
    selector: Mapping[str, Any] | None = raw.get("labelSelector")
    extra = [
        {"key": key, "operator": operator, "values": [labels[key]]}
        for part, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in raw.get(part) or ()
        if key in labels
    ]
    if not extra or selector is None:
        return selector
    return {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *extra]}


def _label_key_values(pod: Pod) -> Hashable:
    """The values of the pod's own labels that its matchLabelKeys and mismatchLabelKeys name."""
    keys = {
        key
        for part in ("podAffinity", "podAntiAffinity")
        for listed in (pod.affinity.get(part) or {}).values()
        for raw in listed
        for term in (raw.get("podAffinityTerm") or raw,)
        for name in ("matchLabelKeys", "mismatchLabelKeys")
        for key in term.get(name) or ()
    }
    return tuple((key, pod.labels.get(key)) for key in sorted(keys)) if keys else ()


def canonical(value: Any) -> str:
    """Plain data as text: equal text for equal data."""
    return json.dumps(value, sort_keys=True, default=str)
