"""Fair shares, KAI's rule: quotas first, then the rest by priority and over-quota weight.

Volcano's water filling (``proportion/water_fill``) differs: real amounts of all resources at
once, without priorities and usage.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pumice_builtin_plugins.fairshare.quantities import UNITS, Quantities
from pumice_builtin_plugins.fairshare.queues import FairQueue

_ZERO = Fraction(0)


@dataclass(slots=True, eq=False)
class ResourceShare:
    """One queue's part in the division of one resource; :func:`divide` sets ``fair_share``."""

    deserved: float
    limit: float
    over_quota_weight: Fraction
    request: int
    priority: int = 0
    usage: Fraction = _ZERO
    guarantee: float = 0
    fair_share: int = 0

    @property
    def requestable(self) -> int:
        return self.request if self.limit == math.inf else min(int(self.limit), self.request)

    @property
    def missing(self) -> int:
        return self.requestable - self.fair_share


def set_fair_shares(
    total: Quantities, queues: Sequence[FairQueue], k: Fraction, cluster_total: Quantities
) -> None:
    """Divide the total among sibling queues, and each queue's fair share among its children."""
    fair_shares = []
    for i, unit in enumerate(UNITS):
        shares = [
            ResourceShare(
                deserved=queue.quota.deserved[i],
                limit=queue.quota.limit[i],
                over_quota_weight=queue.quota.over_quota_weight[i],
                request=queue.request[i],
                priority=queue.share_priority,
                usage=queue.usage[i],
                guarantee=queue.quota.guarantee[i],
            )
            for queue in queues
        ]
        divide_with_guarantees(total[i], shares, k, unit)
        fair_shares.append([share.fair_share for share in shares])
    for queue, cpu, memory, gpus in zip(queues, *fair_shares, strict=True):
        queue.set_fair_share((cpu, memory, gpus), cluster_total)
        if queue.children:
            set_fair_shares(queue.fair_share, queue.children, k, cluster_total)


def divide_with_guarantees(
    total: int, shares: Sequence[ResourceShare], k: Fraction, unit: int = 1
) -> None:
    """Divide one resource so that no queue gets less than its guarantee, if it requests so much.

    A queue that would get less has its guarantee, and the others divide the rest.
    """
    others = list(shares)
    while True:
        divide(max(total, 0), others, k, unit)
        short = [s for s in others if s.fair_share < min(s.guarantee, s.requestable)]
        if not short:
            return
        for share in short:
            share.fair_share = int(min(share.guarantee, share.requestable))
            total -= share.fair_share
        others = [share for share in others if share not in short]


def divide(total: int, shares: Sequence[ResourceShare], k: Fraction, unit: int = 1) -> int:
    """Divide one resource; returns what remains, negative where quotas exceed the total.

    Queues are served in the order given, the oldest first. Beyond the quotas only whole units are
    handed out; what rounding leaves goes, one unit each, to the queues with the largest remainder.
    """
    remaining = total
    for share in shares:
        quota = total if share.deserved == math.inf else int(share.deserved)
        share.fair_share = min(quota, share.requestable)
        remaining -= share.fair_share
    if remaining <= 0:
        return remaining
    by_priority: dict[int, list[ResourceShare]] = {}
    for share in shares:
        by_priority.setdefault(share.priority, []).append(share)
    remainders: list[list[tuple[Fraction, ResourceShare]]] = []
    for priority in sorted(by_priority, reverse=True):
        remaining, rounded_off = _divide_over_quota(remaining, by_priority[priority], k, unit)
        remainders.append(rounded_off)
    for group in remainders:
        # A stable sort: among equal remainders the older queue stays first.
        for _, share in sorted(group, key=lambda entry: -entry[0]):
            if remaining <= 0:
                return remaining
            given = min(unit, remaining)
            share.fair_share += given
            remaining -= given
    return remaining


def _divide_over_quota(
    amount: int, shares: Sequence[ResourceShare], k: Fraction, unit: int
) -> tuple[int, list[tuple[Fraction, ResourceShare]]]:
    """Hand out by weight until all queues are satisfied; what remains, and the remainders."""
    remainders: dict[int, Fraction] = {}
    while True:
        unsatisfied = [(i, share) for i, share in enumerate(shares) if share.missing > 0]
        weights = _effective_weights([share for _, share in unsatisfied], k)
        total_weight = sum(weights)
        if not total_weight:
            break
        round_amount, again = amount, False
        for (i, share), weight in zip(unsatisfied, weights, strict=True):
            if not share.over_quota_weight:
                continue
            if not amount:
                break
            missing, part = share.missing, round_amount * weight / total_weight
            if missing <= part:
                given = missing
                remainders.pop(i, None)
            else:
                given = math.floor(part / unit) * unit
                if part > given:
                    remainders[i] = part - given
            if given:
                share.fair_share += given
                amount -= given
                again = again or missing < part
        if not again or not amount:
            break
    return amount, [(remainders[i], share) for i, share in enumerate(shares) if i in remainders]


def _effective_weights(shares: Sequence[ResourceShare], k: Fraction) -> list[Fraction]:
    """Normalised over-quota weights, corrected by recent usage: ``max(0, w + k * (w - usage))``."""
    total = sum((share.over_quota_weight for share in shares), _ZERO)
    if not total:
        return [_ZERO] * len(shares)
    weights = [share.over_quota_weight / total for share in shares]
    return [
        max(_ZERO, weight + k * (weight - share.usage))
        for weight, share in zip(weights, shares, strict=True)
    ]
