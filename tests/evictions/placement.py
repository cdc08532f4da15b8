"""Whether pods can be on a node together: room, devices, and what kube-scheduler filters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from tests.evictions.objects import GPU, Amounts, Node, Object, Pod, exceeds

Present = Mapping[str, Mapping[str, Pod]]
"""Node → the pods on it, by key."""


class OnNode(Protocol):
    """What a pod takes on a node."""

    @property
    def request(self) -> Amounts: ...
    @property
    def devices(self) -> int: ...
    @property
    def node(self) -> str: ...
    @property
    def gpu_groups(self) -> tuple[str, ...]: ...

    def portion(self, node: Node | None) -> float:
        """The part of each shared GPU."""


def over_capacity(node: Node, pods: Iterable[OnNode]) -> str:
    """What of the node the pods exceed, or nothing.

    A pod that runs there takes the shared GPUs that it has; one that is only promised the node
    takes any on which it fits.
    """
    total: dict[str, float] = {}
    shared: dict[str, float] = {}
    free: list[float] = []
    for pod in pods:
        for name, value in pod.request.items():
            total[name] = total.get(name, 0.0) + value
        if pod.devices:
            portion = pod.portion(node)
            settled = pod.gpu_groups if pod.node == node.name else ()
            for group in settled:
                shared[group] = shared.get(group, 0.0) + portion
            free += [portion] * (pod.devices - len(settled))
    for name, value in total.items():
        if exceeds(value, node.allocatable.get(name, 0.0)):
            return name
    if shared or free:
        if any(exceeds(value, 1.0) for value in shared.values()):
            return "a shared GPU"
        whole = node.allocatable.get(GPU, 0.0) - total.get(GPU, 0.0)
        if exceeds(len(shared), whole) or not _packs(
            sorted(free, reverse=True), sorted(shared.values()), whole - len(shared)
        ):
            return "GPUs"
    return ""


def _packs(portions: Sequence[float], used: list[float], unused: float) -> bool:
    """Whether the portions fit the GPUs in use and ``unused`` whole ones."""
    if not portions:
        return True
    first, rest = portions[0], portions[1:]
    for number, value in enumerate(used):
        repeated = number and value == used[number - 1]
        if not repeated and not exceeds(value + first, 1.0):
            changed = sorted([*used[:number], value + first, *used[number + 1 :]])
            if _packs(rest, changed, unused):
                return True
    return unused >= 1 and not exceeds(first, 1.0) and _packs(rest, [*used, first], unused - 1)


class Filters:
    """The filters of pods that are placed by kube-scheduler's rules."""

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self.nodes = nodes
        self._static: dict[tuple[str, str], str] = {}

    def refusal(self, pod: Pod, node: Node, present: Present) -> str:
        """Why the pod cannot be on the node beside the others, or nothing."""
        return (
            self.static(pod, node)
            or self._ports(pod, present.get(node.name) or {})
            or self._affinity(pod, node, present)
        )

    def static(self, pod: Pod, node: Node) -> str:
        """Why the pod cannot be on the node whatever else is there."""
        key = (pod.key, node.name)
        answer = self._static.get(key)
        if answer is None:
            answer = self._static[key] = _static(pod, node)
        return answer

    def _ports(self, pod: Pod, beside: Mapping[str, Pod]) -> str:
        if pod.ports:
            for other in beside.values():
                if other is not pod and not set(pod.ports).isdisjoint(other.ports):
                    return f"host port, taken by {other.key}"
        return ""

    def _affinity(self, pod: Pod, node: Node, present: Present) -> str:
        for name, pods in present.items():
            labels = self.nodes[name].labels
            for other in pods.values():
                if other is pod:
                    continue
                if pod.repelled:
                    for term in pod.repelled:
                        if _selects(term, pod, other) and _together(term, node.labels, labels):
                            return f"anti-affinity to {other.key}"
                for term in other.repelled:
                    if _selects(term, other, pod) and _together(term, node.labels, labels):
                        return f"anti-affinity of {other.key}"
        for term in pod.attracted:
            if not self._attracted(pod, term, node, present):
                return "affinity"
        return ""

    def _attracted(self, pod: Pod, term: Object, node: Node, present: Present) -> bool:
        if term["topologyKey"] not in node.labels:
            return False
        anywhere = False
        for name, pods in present.items():
            for other in pods.values():
                if other is not pod and _selects(term, pod, other):
                    anywhere = True
                    if _together(term, node.labels, self.nodes[name].labels):
                        return True
        # The first pod of a series that selects itself may go anywhere.
        return not anywhere and _selects(term, pod, pod)


def _static(pod: Pod, node: Node) -> str:
    if node.unschedulable:
        return "unschedulable"
    labels = node.labels
    if any(labels.get(key) != value for key, value in pod.selector.items()):
        return "node selector"
    if pod.node_affinity and not any(
        all(matches(rule, labels) for rule in term.get("matchExpressions") or ())
        for term in pod.node_affinity
    ):
        return "node affinity"
    for taint in node.taints:
        if taint["effect"] != "PreferNoSchedule" and not any(
            _tolerates(toleration, taint) for toleration in pod.tolerations
        ):
            return f"taint {taint['key']}"
    return ""


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("value", "") == taint.get("value", ""))


def matches(rule: Object, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy one expression of a selector."""
    value = labels.get(rule["key"])
    match rule["operator"]:
        case "In":
            return value in rule["values"]
        case "NotIn":
            return value not in rule["values"]
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    raise ValueError(f"selector operator {rule['operator']!r}")


def selected(selector: Object, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects the labels."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        matches(rule, labels) for rule in selector.get("matchExpressions") or ()
    )


def _selects(term: Object, owner: Pod, other: Pod) -> bool:
    namespaces = term.get("namespaces") or (owner.namespace,)
    return other.namespace in namespaces and selected(term["labelSelector"], other.labels)


def _together(term: Object, one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    key = term["topologyKey"]
    return key in one and one[key] == other.get(key)
