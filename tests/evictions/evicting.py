"""Checks of evictions: who may never go, and what becomes of the gangs."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from tests.evictions.cycle import Cycle
from tests.evictions.objects import SYSTEM_CLASSES, Gang, Pod
from tests.evictions.reclaiming import check_reclaiming
from tests.evictions.sparing import check_sparing

_UNCLAIMED = frozenset({"evict_stale_gangs", "shuffle"})
"""Actions that evict for no claimant."""


def check_evicting(cycle: Cycle) -> None:
    """Check everything that the cycle evicts."""
    if not cycle.evicted:
        return
    _check_protected(cycle)
    _check_gangs(cycle)
    plans: dict[str, list[Any]] = defaultdict(list)
    for eviction in cycle.evicted.values():
        if eviction.claimant in cycle.cluster.gangs:
            plans[eviction.claimant].append(eviction)
    for claimant, evictions in plans.items():
        gang = cycle.cluster.gangs[claimant]
        _check_complete(cycle, gang, evictions)
        check_sparing(cycle, gang, evictions)
    check_reclaiming(cycle, plans)


def _check_protected(cycle: Cycle) -> None:
    budgets = cycle.cluster.budgets
    allowed = [budget.allowed for budget in budgets]
    for eviction in cycle.evicted.values():
        pod = cycle.cluster.pods[eviction.task]
        why = f"{pod.key}, {eviction.action} for {eviction.claimant or 'nobody'}"
        claimed = eviction.action not in _UNCLAIMED
        protection = _protection(pod, claimed=claimed)
        if protection:
            cycle.report("protected", f"{protection}: {why}")
        if not cycle.rules.budgets or not claimed:
            continue
        for number, budget in enumerate(budgets):
            if budget.covers(pod):
                allowed[number] -= 1
                if allowed[number] < 0:
                    cycle.report("budget", why)


def _protection(pod: Pod, *, claimed: bool) -> str:
    """Why no scheduler may evict the pod, or nothing."""
    if pod.namespace == "kube-system":
        return "kube-system"
    if pod.priority_class in SYSTEM_CLASSES:
        return pod.priority_class
    if not claimed:
        return ""
    gang = pod.gang
    if gang is not None and gang.family == "kai":
        return "" if gang.preemptible else "non-preemptible"
    return "" if pod.preemptable else "not preemptable"


def _check_gangs(cycle: Cycle) -> None:
    """A gang that was complete gives its surplus or goes whole; pods that move count as left."""
    for gang in cycle.gangs(cycle.evicted):
        left = len(cycle.staying(gang))
        remaining = left + sum(1 for pod in gang.pods if pod.key in cycle.promises)
        if left and remaining < gang.minimum <= len(cycle.placed(gang)):
            by = {cycle.evicted[p.key].action for p in gang.pods if p.key in cycle.evicted}
            detail = f"{gang.uid}: {remaining} of {gang.minimum}, by {', '.join(sorted(by))}"
            cycle.report("gang-broken", detail)


def _check_complete(cycle: Cycle, gang: Gang, evictions: list[Any]) -> None:
    """A plan ends with its claimant placed."""
    gained = [pod for pod in gang.pods if pod.key in cycle.promises or pod.key in cycle.binds]
    left = [pod for pod in gang.pods if pod.node and pod.key not in cycle.evicted]
    waiting = cycle.best_effort(gang, {*cycle.binds, *cycle.promises})
    if not gained or len(left) + len(gained) + waiting < gang.minimum:
        cycle.report(
            "no-plan",
            f"{gang.uid}: {len(left)}+{len(gained)} of {gang.minimum}, "
            f"{len(evictions)} evicted by {evictions[0].action}",
        )
