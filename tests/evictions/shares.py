"""What queues are entitled to: water filling of both families, written independently."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.evictions.cluster import Cluster
from tests.evictions.objects import (
    DIMENSIONS,
    PODS,
    UNLIMITED,
    Amounts,
    Queue,
    add,
    exceeds,
)


@dataclass(slots=True)
class Shares:
    """By queue: the most that nobody may reclaim from it."""

    entitled: dict[str, Amounts] = field(default_factory=dict)
    """Volcano: deserved. KAI: the greater of quota and fair share."""

    def above(self, queue: str, used: Amounts, dimensions: Sequence[str] = DIMENSIONS) -> list[str]:
        """The dimensions in which a queue that uses this much has more than its share."""
        entitled = self.entitled.get(queue, {})
        return [
            name for name in dimensions if exceeds(used.get(name, 0.0), entitled.get(name, 0.0))
        ]


def compute(
    cluster: Cluster, *, tree: bool = True, gpus_of_100_mib: bool = False, quotas: bool = False
) -> Shares:
    """The shares at the start of a cycle.

    ``quotas``: what Volcano's queues state as deserved comes before the division by weight.
    ``tree``: parents of Volcano queues count. ``gpus_of_100_mib``: what KAI takes a GPU to have
    when a pending pod asks for GPU memory; otherwise the smallest GPU of the cluster counts.
    """
    with_gpus = (node for node in cluster.nodes.values() if node.gpu_memory)
    least = min(with_gpus, key=lambda node: node.gpu_memory, default=None)
    if gpus_of_100_mib:
        least = None
    request: dict[str, Amounts] = {name: {} for name in cluster.queues}
    busy = set()
    for gang in cluster.gangs.values():
        for queue in cluster.path(gang.queue):
            busy.add(queue.name)
        for pod in gang.pods:
            counted = pod.counted(cluster.nodes.get(pod.node, least))
            for queue in cluster.path(gang.queue):
                add(request[queue.name], counted)
    if cluster.family == "kai":
        return _kai(cluster, request)
    leaves = {gang.queue for gang in cluster.gangs.values()}
    total: Amounts = {}
    for node in cluster.nodes.values():
        add(total, node.allocatable)
    shares = Shares()
    if tree:
        _below(cluster, "", total, request, busy, shares, quotas)
    else:
        queues = [queue for name, queue in cluster.queues.items() if name in leaves]
        shares.entitled = proportion(queues, total, request, list(cluster.queues.values()))
    return shares


def _below(
    cluster: Cluster,
    parent: str,
    total: Amounts,
    request: dict[str, Amounts],
    busy: set[str],
    shares: Shares,
    quotas: bool,
) -> None:
    children = [queue for queue in cluster.queues.values() if queue.parent == parent]
    active = [queue for queue in children if queue.name in busy]
    entitled = proportion(active, total, request, children, quotas=quotas)
    shares.entitled |= entitled
    for queue in active:
        _below(cluster, queue.name, entitled[queue.name], request, busy, shares, quotas)


def proportion(
    queues: Sequence[Queue],
    total: Amounts,
    request: dict[str, Amounts],
    siblings: Sequence[Queue],
    *,
    quotas: bool = False,
) -> dict[str, Amounts]:
    """Volcano's deserved amounts: by weight, within limit and request, not below the guarantee."""
    names = sorted({*total, *DIMENSIONS, PODS})
    guaranteed: Amounts = {}
    for queue in siblings:
        add(guaranteed, queue.guarantee)
    free = {name: max(total.get(name, 0.0) - guaranteed.get(name, 0.0), 0.0) for name in names}
    deserved: dict[str, Amounts] = {queue.name: dict.fromkeys(names, 0.0) for queue in queues}
    remaining = {name: total.get(name, 0.0) for name in names}
    for queue in queues if quotas else ():
        for name in names:
            asked = min(request[queue.name].get(name, 0.0), queue.limit.get(name, UNLIMITED))
            first = min(queue.quota.get(name, 0.0), asked)
            deserved[queue.name][name] = first
            remaining[name] = max(remaining[name] - first, 0.0)
    unmet = list(queues)
    while unmet:
        weights = sum(queue.weight for queue in unmet)
        if not weights:
            break
        change = dict.fromkeys(names, 0.0)
        still = []
        for queue in unmet:
            old, asked = deserved[queue.name], request[queue.name]
            new = {}
            for name in names:
                value = old[name] + remaining[name] * queue.weight / weights
                ceiling = free[name] + queue.guarantee.get(name, 0.0)
                value = min(value, ceiling, queue.limit.get(name, UNLIMITED))
                value = min(value, asked.get(name, 0.0))
                new[name] = max(value, queue.guarantee.get(name, 0.0))
                change[name] += new[name] - old[name]
            deserved[queue.name] = new
            met = not any(exceeds(asked.get(name, 0.0), new[name]) for name in names)
            if not met and any(abs(new[name] - old[name]) > 1e-6 for name in names):
                still.append(queue)
        unmet = still
        left = {name: max(remaining[name] - change[name], 0.0) for name in names}
        empty = all(left[name] < 1e-4 for name in names if name != PODS)
        if empty or all(abs(left[name] - remaining[name]) < 1e-6 for name in names):
            break
        remaining = left
    return deserved


def _kai(cluster: Cluster, request: dict[str, Amounts]) -> Shares:
    total: Amounts = {}
    for node in cluster.nodes.values():
        if not node.unschedulable:
            add(total, node.allocatable)
    shares = Shares()
    children: dict[str, list[Queue]] = {}
    for queue in cluster.queues.values():
        children.setdefault(queue.parent, []).append(queue)

    def divide(parent: str, amounts: Amounts) -> None:
        queues = children.get(parent, [])
        fair = {
            name: fair_shares(name, amounts.get(name, 0.0), queues, request) for name in DIMENSIONS
        }
        for queue in queues:
            own = {name: fair[name][queue.name] for name in DIMENSIONS}
            shares.entitled[queue.name] = {
                name: max(own[name], queue.quota.get(name, 0.0)) for name in DIMENSIONS
            }
            divide(queue.name, own)

    divide("", total)
    return shares


def fair_shares(
    name: str, total: float, queues: Sequence[Queue], request: dict[str, Amounts]
) -> Amounts:
    """KAI's division of one resource: quotas, then by over-quota weight, priority by priority."""
    fair: Amounts = {}
    wanted: Amounts = {}
    remaining = total
    for queue in queues:
        asked = request[queue.name].get(name, 0.0)
        wanted[queue.name] = min(asked, queue.limit.get(name, UNLIMITED))
        quota = queue.quota.get(name, 0.0)
        fair[queue.name] = min(total if quota == UNLIMITED else quota, wanted[queue.name])
        remaining -= fair[queue.name]
    leftovers: list[tuple[int, float, float, str]] = []
    for priority in sorted({queue.priority for queue in queues}, reverse=True):
        group = [queue for queue in queues if queue.priority == priority]
        remaining, rests = _over_quota(name, remaining, group, fair, wanted)
        leftovers += [
            (-priority, -rests[queue.name], queue.created, queue.name)
            for queue in group
            if queue.name in rests
        ]
    for _, _, _, queue_name in sorted(leftovers):
        if remaining <= 0:
            break
        given = min(1.0, remaining)
        fair[queue_name] += given
        remaining -= given
    return fair


def _over_quota(
    name: str, amount: float, group: Sequence[Queue], fair: Amounts, wanted: Amounts
) -> tuple[float, Amounts]:
    rests: Amounts = {}
    again = True
    while again and amount > 0:
        again = False
        round_amount = amount
        open_queues = [queue for queue in group if wanted[queue.name] - fair[queue.name] > 1e-9]
        weights = sum(queue.over_quota_weight.get(name, 0) for queue in open_queues)
        if not weights:
            break
        for queue in open_queues:
            weight = queue.over_quota_weight.get(name, 0)
            if not weight or amount <= 0:
                continue
            need = wanted[queue.name] - fair[queue.name]
            share = round_amount * weight / weights
            if need <= share:
                given = need
                rests.pop(queue.name, None)
            else:
                given = float(math.floor(share))
                if share > given:
                    rests[queue.name] = share - given
            fair[queue.name] += given
            amount -= given
            again = again or need < share
    return amount, rests
