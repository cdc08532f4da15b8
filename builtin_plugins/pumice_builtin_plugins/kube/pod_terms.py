"""Pod affinity terms: which pods they speak of, and who carries which."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple

from pumice import Inventory, Pod, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.node_affinity import PREFERRED, REQUIRED

_NAME_LABEL = "kubernetes.io/metadata.name"


class Namespaces:
    """Labels of namespaces. One that nobody described still has its name."""

    def __init__(self, inventory: Inventory) -> None:
        self._known = {
            name: (raw.get("metadata") or {}).get("labels") or {}
            for name, raw in inventory.others.get("Namespace", {}).items()
        }

    def labels(self, name: str) -> Mapping[str, str]:
        return {_NAME_LABEL: name, **self._known.get(name, {})}


class Term:
    """One term: pods of these namespaces that the selector matches, near in a label's sense."""

    __slots__ = ("_namespaces", "key", "names", "namespace_selector", "selector", "topology_key")

    def __init__(self, raw: Mapping[str, Any], pod: Pod, namespaces: Namespaces) -> None:
        self.topology_key: str = raw.get("topologyKey") or ""
        self.selector = pinned(raw, pod.labels)
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
        return isinstance(other, Term) and self.key == other.key


class PodTerms(NamedTuple):
    """All pod affinity of one pod; the preferred terms have their weight, negative for anti."""

    affinity: tuple[Term, ...] = ()
    anti: tuple[Term, ...] = ()
    wishes: tuple[tuple[Term, int], ...] = ()


NO_TERMS = PodTerms()


def read_terms(pod: Pod, namespaces: Namespaces) -> PodTerms:
    near = pod.affinity.get("podAffinity") or {}
    apart = pod.affinity.get("podAntiAffinity") or {}
    if not near and not apart:
        return NO_TERMS

    def terms(listed: Iterable[Mapping[str, Any]] | None) -> tuple[Term, ...]:
        return tuple(Term(raw, pod, namespaces) for raw in listed or ())

    wishes = [
        (Term(wish.get("podAffinityTerm") or {}, pod, namespaces), sign * (wish.get("weight") or 0))
        for part, sign in ((near, 1), (apart, -1))
        for wish in part.get(PREFERRED) or ()
    ]
    return PodTerms(terms(near.get(REQUIRED)), terms(apart.get(REQUIRED)), tuple(wishes))


class TermReader:
    """The terms of every pod, read once for pods that say the same."""

    def __init__(self, namespaces: Namespaces) -> None:
        self._namespaces = namespaces
        self._by_text: dict[Hashable, PodTerms] = {}
        self._by_uid: dict[str, PodTerms] = {}

    def terms(self, task: Task) -> PodTerms:
        pod = task.pod
        if not pod.affinity:
            return NO_TERMS
        found = self._by_uid.get(task.uid)
        if found is None:
            key = (task.constraints, _pinning_values(pod))
            found = self._by_text.get(key)
            if found is None:
                found = self._by_text[key] = read_terms(pod, self._namespaces)
            self._by_uid[task.uid] = found
        return found


def pinned(raw: Mapping[str, Any], labels: Mapping[str, str]) -> Mapping[str, Any] | None:
    """The selector of a term or constraint, narrowed to pods that share some labels with its own.

    ``matchLabelKeys`` wants the same value, ``mismatchLabelKeys`` another.
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


def _pinning_values(pod: Pod) -> Hashable:
    """The labels of the pod itself that its terms depend on."""
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
    """Plain data as text that is equal for equal data."""
    return json.dumps(value, sort_keys=True, default=str)
