"""Checks whether a plan needs each of its victims."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.evictions.cycle import Cycle, Placement
from tests.evictions.objects import Gang, Pod
from tests.evictions.placement import over_capacity


def check_sparing(cycle: Cycle, claimant: Gang, evictions: list[Any]) -> None:
    """Drop each victim in turn, a gang that went whole as one, and see whether the plan holds."""
    at_plan = cycle.at_plan(claimant, evictions)
    _check_needless(cycle, claimant, evictions, at_plan)
    by_gang: dict[str, list[Pod]] = defaultdict(list)
    for eviction in evictions:
        pod = cycle.cluster.pods[eviction.task]
        if pod.node:
            by_gang[pod.gang.uid if pod.gang else pod.key].append(pod)
    for victims in by_gang.values():
        gang = victims[0].gang
        if gang is None or gang.minimum <= 1 or cycle.staying(gang):
            units = [[pod] for pod in victims]
        else:
            units = _together(cycle, victims, gang.minimum, at_plan)
        for unit in units:
            kind = _fits_back(cycle, unit, at_plan, claimant)
            if kind:
                names = ", ".join(pod.key for pod in unit)
                cycle.report(kind, f"{names}, {evictions[0].action} for {claimant.uid}")


def _together(
    cycle: Cycle, victims: list[Pod], minimum: int, at_plan: Placement
) -> list[list[Pod]]:
    """As many of a gang as can stay; none if they are fewer than its minimum."""
    together: list[Pod] = []
    for pod in victims:
        if _fits_back(cycle, [*together, pod], at_plan):
            together.append(pod)
    return [together] if len(together) >= minimum else []


def _fits_back(
    cycle: Cycle, pods: list[Pod], at_plan: Placement, claimant: Gang | None = None
) -> str:
    """The kind of violation if these victims could stay beside everything promised."""
    cluster = cycle.cluster
    present = dict(at_plan)
    for pod in pods:
        # The new place of a pod that moves becomes free.
        name = cycle.promises.get(pod.key)
        if name is not None:
            present[name] = {key: one for key, one in present[name].items() if key != pod.key}
    for pod in pods:
        present[pod.node] = {**present[pod.node], pod.key: pod}
    for name in {pod.node for pod in pods}:
        if over_capacity(cluster.nodes[name], present[name].values()):
            return ""
    back = {pod.key for pod in pods}
    promised = {
        key: name
        for key, name in cycle.promises.items()
        if key in present[name] and key not in back
    }
    if not _can_come(cycle, promised, present):
        return ""
    used = cycle.usage(present)
    if any(cycle.over_limit(pod, pod.node, used) for pod in pods):
        return ""
    if claimant is not None and cycle.rules.deserved_is_limit:
        same = any(pod.gang is not None and pod.gang.queue == claimant.queue for pod in pods)
        if same and cycle.shares.above(claimant.queue, used[claimant.queue]):
            return "spareable-share"
    return "spareable"


def _can_come(cycle: Cycle, promised: dict[str, str], present: Placement) -> bool:
    """Whether the promised pods pass the filters, one after another in some order."""
    pods, nodes, filters = cycle.cluster.pods, cycle.cluster.nodes, cycle.cluster.filters
    here = {
        name: {key: pod for key, pod in held.items() if key not in promised}
        for name, held in present.items()
    }
    waiting = dict(promised)
    while waiting:
        came = [
            key
            for key, name in waiting.items()
            if not filters.refusal(pods[key], nodes[name], here)
        ]
        if not came:
            return False
        name = waiting.pop(came[0])
        here[name][came[0]] = pods[came[0]]
    return True


def _check_needless(cycle: Cycle, claimant: Gang, evictions: list[Any], at_plan: Placement) -> None:
    """Whether everything that the plan places fits somewhere without its evictions."""
    cluster, promises = cycle.cluster, cycle.promises
    present = {name: dict(pods) for name, pods in at_plan.items()}
    placed = [pod for pod in claimant.pods if pod.key in promises]
    for pod in placed:
        del present[promises[pod.key]][pod.key]
    for eviction in evictions:
        pod = cluster.pods[eviction.task]
        if pod in placed or not pod.node:
            return
        present[promises.get(pod.key, pod.node)].pop(pod.key, None)
        present[pod.node][pod.key] = pod
    for pod in placed:
        name = _place_for(cycle, pod, present)
        if not name:
            return
        present[name][pod.key] = pod
    used = cycle.usage(present)
    if any(cycle.over_limit(pod, promises[pod.key], used) for pod in placed):
        return
    if cycle.rules.deserved_is_limit and cycle.shares.above(claimant.queue, used[claimant.queue]):
        return
    if placed:
        action = evictions[0].action
        cycle.report("needless", f"{len(evictions)} evicted, {action} for {claimant.uid}")


def _place_for(cycle: Cycle, pod: Pod, present: Placement) -> str:
    for name, node in cycle.cluster.nodes.items():
        if cycle.cluster.filters.refusal(pod, node, present):
            continue
        if not over_capacity(node, [*present[name].values(), pod]):
            return name
    return ""
