"""Small changes to a cluster or a policy that might let a job run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pumice.explain.codes import CODES
from pumice.explain.explanation import Explanation
from pumice.model.facts import Inventory, Pod, PriorityClass
from pumice.model.quantity import PODS, amount, shown
from pumice.model.resources import Resource

if TYPE_CHECKING:
    from pumice.config import Policy

_HIGHEST = "pumice-what-if"
_FACTORS = (2, 4, 10, 100)
_MOST_JOBS = 12
Changed = tuple[str, str, Inventory]
"""Kind, text, and the cluster after the change."""


def of_cluster(explanation: Explanation, inventory: Inventory, job: str) -> Iterator[Changed]:
    """Changes to queues, to the job, and to those that hold what it needs."""
    level = CODES[explanation.code].level if explanation.code in CODES else ""
    if level in ("share", "queue limit", "enqueue gate") or _failed(explanation, "share"):
        yield from _queues(inventory, job)
    yield from _preemption_policy(inventory, job)
    yield from _requests(explanation, inventory, job)
    yield from _gangs(inventory, job)
    yield from _priorities(explanation, inventory, job)
    yield from _freed(explanation, inventory, job)


def of_policy(explanation: Explanation, policy: Policy) -> Iterator[tuple[str, Policy]]:
    """The policy without one of the votes that stopped the job."""
    votes = [(level.plugin, level.hook) for level in explanation.levels if not level.ok]
    votes += [(victim.plugin, victim.hook) for victim in explanation.victims]
    for plugin, hook in dict.fromkeys(votes):
        point = policy.points.get(hook)
        if point is None or not point.gated or "," in plugin:
            continue
        tiers = tuple(
            tuple(
                replace(entry, disable=entry.disable | {point.base})
                if entry.name == plugin
                else entry
                for entry in tier
            )
            for tier in policy.tiers
        )
        text = f"policy: {plugin} without {point.base} (disable = [{point.base!r}])"
        yield text, replace(policy, tiers=tiers)


def _failed(explanation: Explanation, name: str) -> bool:
    return any(level.level == name and not level.ok for level in explanation.levels)


def _members(inventory: Inventory, job: str) -> list[Pod]:
    return [pod for pod in inventory.pods.values() if pod.group == job]


def _waiting(inventory: Inventory, job: str) -> list[Pod]:
    return [pod for pod in _members(inventory, job) if not pod.node_name]


def _with_pods(inventory: Inventory, pods: list[Pod]) -> Inventory:
    return replace(inventory, pods={**inventory.pods, **{pod.uid: pod for pod in pods}})


def _queues(inventory: Inventory, job: str) -> Iterator[Changed]:
    group = inventory.groups.get(job)
    queue = inventory.queues.get(group.queue) if group is not None else None
    if queue is None:
        return
    if not queue.is_open:
        text = f"queue {queue.name} is opened"
        yield "queue", text, _with_queue(inventory, queue.name, state="Open")
    for factor in _FACTORS[:-1]:
        weight = max(queue.weight, 1) * factor
        text = f"queue {queue.name} with weight {weight} instead of {queue.weight}"
        yield "weight", text, _with_queue(inventory, queue.name, weight=weight)
    asked = Resource()
    for pod in _members(inventory, job):
        asked.add(pod.request)
    for name, bound in (("limit", queue.limit), ("deserved", queue.deserved)):
        if bound is not None:
            raised = bound.plus(asked)
            text = f"queue {queue.name} with a {name} of {raised.describe()}"
            yield name, text, _with_queue(inventory, queue.name, **{name: raised})


def _with_queue(inventory: Inventory, name: str, **facts: object) -> Inventory:
    changed = replace(inventory.queues[name], **facts)  # type: ignore[arg-type]
    return replace(inventory, queues={**inventory.queues, name: changed})


def _preemption_policy(inventory: Inventory, job: str) -> Iterator[Changed]:
    pods = [pod for pod in _waiting(inventory, job) if pod.preemption_policy == "Never"]
    if pods:
        changed = [replace(pod, preemption_policy="PreemptLowerPriority") for pod in pods]
        text = "its pods without preemptionPolicy Never"
        yield "preemption policy", text, _with_pods(inventory, changed)


def _requests(explanation: Explanation, inventory: Inventory, job: str) -> Iterator[Changed]:
    """Less of what is missing: as much as one node has free, then half, a quarter …"""
    nodes = next((level for level in explanation.levels if level.level == "nodes"), None)
    pods = _waiting(inventory, job)
    if nodes is None or not pods:
        return
    missing = nodes.numbers.get("missing") or nodes.numbers.get("asked") or {}
    free = nodes.numbers.get("most_free_on_a_node", {})
    for name in missing:
        most = max(pod.request.get(name) for pod in pods)
        sizes = [amount(name, free[name])] if name in free else []
        sizes += [int(most) // divisor for divisor in _FACTORS]
        for size in sorted({size for size in sizes if 0 < size < most}, reverse=True):
            changed = [replace(pod, request=_at_most(pod.request, name, size)) for pod in pods]
            text = f"its tasks ask for {shown(name, size)} {name} instead of {shown(name, most)}"
            yield "request", text, _with_pods(inventory, changed)


def _at_most(request: Resource, name: str, size: float) -> Resource:
    smaller = request.clone()
    smaller.set(name, min(request.get(name), size))
    return smaller


def _gangs(inventory: Inventory, job: str) -> Iterator[Changed]:
    group = inventory.groups.get(job)
    if group is None or group.min_member <= 1:
        return
    pods = sorted(_waiting(inventory, job), key=lambda pod: pod.name)
    least, spare = group.min_member, len(pods)
    for fewer in dict.fromkeys((least - 1, least // 2, 1)):
        if not 0 < fewer < least or fewer >= spare:
            continue
        gone = {pod.uid for pod in pods[fewer:]}
        rest = {uid: pod for uid, pod in inventory.pods.items() if uid not in gone}
        groups = {**inventory.groups, job: replace(group, min_member=fewer, min_resources=None)}
        text = f"{fewer} task{'s' * (fewer != 1)} instead of {least} at once (minMember)"
        yield "gang", text, replace(inventory, pods=rest, groups=groups)


def _priorities(explanation: Explanation, inventory: Inventory, job: str) -> Iterator[Changed]:
    group = inventory.groups.get(job)
    if group is None or not any(victim.outcome == "spared" for victim in explanation.victims):
        return
    known = [one.value for one in inventory.priority_classes.values()]
    highest = max([*known, 0]) + 1
    classes = {**inventory.priority_classes, _HIGHEST: PriorityClass(_HIGHEST, highest)}
    groups = {**inventory.groups, job: replace(group, priority_class=_HIGHEST)}
    pods = [
        replace(pod, priority=highest, priority_class=_HIGHEST) for pod in _waiting(inventory, job)
    ]
    changed = replace(_with_pods(inventory, pods), groups=groups, priority_classes=classes)
    yield "priority", f"a priority of {highest}, above all others", changed


def _freed(explanation: Explanation, inventory: Inventory, job: str) -> Iterator[Changed]:
    """The cluster without one running job: first those whose tasks were spared, then small ones."""
    pods_of: dict[str, list[Pod]] = {}
    group_of = {}
    for pod in inventory.pods.values():
        if pod.node_name and pod.group and pod.group != job:
            pods_of.setdefault(pod.group, []).append(pod)
            group_of[pod.key] = pod.group
    spared = dict.fromkeys(group_of.get(victim.task, victim.task) for victim in explanation.victims)
    rest = sorted(pods_of, key=lambda uid: (len(pods_of[uid]), uid))
    for uid in [*dict.fromkeys([*spared, *rest])][:_MOST_JOBS]:
        gone = pods_of.get(uid)
        if not gone:
            continue
        gone_uids = {pod.uid for pod in gone}
        left = {key: pod for key, pod in inventory.pods.items() if key not in gone_uids}
        freed = Resource()
        for pod in gone:
            freed.add(pod.request)
        freed.scalars.pop(PODS, None)
        text = f"job {uid} ends ({len(gone)} pods, {freed.describe()})"
        yield "victim", text, replace(inventory, pods=left)
