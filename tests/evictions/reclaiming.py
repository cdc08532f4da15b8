"""Checks whether the queues and gangs of victims were up for it: shares and minimum runtimes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.evictions.cycle import Cycle
from tests.evictions.objects import DIMENSIONS, PODS, Amounts, Gang, add, exceeds


def check_reclaiming(cycle: Cycle, plans: Mapping[str, list[Any]]) -> None:
    """Test each victim before it goes; the pods that a gang needs go as one."""
    cluster = cycle.cluster
    held = _held(cycle)
    surplus: dict[str, int] = {}
    for uid, evictions in plans.items():
        claimant = cluster.gangs[uid]
        for eviction in evictions:
            pod = cluster.pods[eviction.task]
            gang = pod.gang
            if gang is None or pod.key in cycle.promises:
                continue
            left = surplus.setdefault(gang.uid, gang.running() - gang.minimum)
            surplus[gang.uid] = left - 1
            if cycle.rules.min_runtime and left <= 0:
                _check_min_runtime(cycle, gang, claimant, eviction)
            if gang.queue != claimant.queue and left >= 0:
                _check_share(cycle, gang, claimant, held, eviction)
            counted = pod.counted(cluster.nodes.get(eviction.node))
            for queue in cluster.path(gang.queue):
                add(held[queue.name], counted, -1)


def _held(cycle: Cycle) -> dict[str, Amounts]:
    """By queue: what it has before the evictions, and what is promised to its pending pods."""
    present = {name: dict(pods) for name, pods in cycle.after_binds.items()}
    for key, name in cycle.promises.items():
        pod = cycle.cluster.pods[key]
        if not pod.node:
            present[name][key] = pod
    return cycle.usage(present)


def _check_share(
    cycle: Cycle, gang: Gang, claimant: Gang, held: Mapping[str, Amounts], eviction: Any
) -> None:
    cluster = cycle.cluster
    detail = f"{eviction.task} of {gang.queue}, {eviction.action} for {claimant.uid}"
    if not cluster.queues[gang.queue].reclaimable:
        cycle.report("protected", f"queue not reclaimable: {detail}")
    mine, theirs = claimant.queue, gang.queue
    if cycle.rules.tree or gang.family == "kai":
        mine, theirs = cluster.levelled(mine, theirs)
    above = bool(cycle.shares.above(theirs, held[theirs]))
    if gang.family == "kai" and not above:
        # A claimant within its quota may reclaim from a queue above its own quota.
        above = not _within_quota(cycle, theirs, held) and _within_quota(cycle, mine, held)
    if not above:
        only_pods = cycle.shares.above(theirs, held[theirs], (PODS,)) and gang.family == "volcano"
        note = " (above in pods only)" if only_pods else ""
        cycle.report("within-share", detail + note)
    elif theirs != gang.queue and not cycle.shares.above(gang.queue, held[gang.queue]):
        cycle.report("leaf-within-share", detail)


def _within_quota(cycle: Cycle, queue: str, held: Mapping[str, Amounts]) -> bool:
    quota, used = cycle.cluster.queues[queue].quota, held[queue]
    return not any(exceeds(used.get(name, 0.0), quota.get(name, 0.0)) for name in DIMENSIONS)


def _check_min_runtime(cycle: Cycle, gang: Gang, claimant: Gang, eviction: Any) -> None:
    if gang.last_start is None:
        return
    runtime = min_runtime(cycle, gang.queue, claimant.queue)
    if cycle.now >= gang.last_start + runtime:
        return
    ran = cycle.now - gang.last_start
    detail = f"{eviction.task}, {eviction.action} for {claimant.uid}, {ran:g} of {runtime:g} s"
    cycle.report("min-runtime", detail)


def min_runtime(cycle: Cycle, victim: str, claimant: str) -> float:
    """KAI's rule: upwards from the victim's queue, or from just below the common ancestor."""
    path = list(cycle.cluster.path(victim))
    if victim == claimant:
        stated = [queue.preempt_min_runtime for queue in path]
    else:
        _, level = cycle.cluster.levelled(claimant, victim)
        start = next(number for number, queue in enumerate(path) if queue.name == level)
        stated = [queue.reclaim_min_runtime for queue in path[start:]]
    return next((value for value in stated if value is not None), 0.0)
