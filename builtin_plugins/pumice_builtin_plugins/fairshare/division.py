"""Divide resources among queues: quotas first, then the rest by priority and weight."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pumice_builtin_plugins.fairshare.amounts import UNITS, Amount
from pumice_builtin_plugins.fairshare.queues import FairQueue

_ZERO = Fraction(0)


@dataclass(slots=True, eq=False)
class Claim:
    """What one queue may want of a resource; :func:`divide` fills ``share``."""

    deserved: float
    limit: float
    weight: Fraction
    request: int
    priority: int = 0
    usage: Fraction = _ZERO
    share: int = 0

    @property
    def requestable(self) -> int:
        return self.request if self.limit == math.inf else min(int(self.limit), self.request)

    @property
    def missing(self) -> int:
        return self.requestable - self.share


def share_out(
    amount: Amount, queues: Sequence[FairQueue], k: Fraction, cluster_total: Amount
) -> None:
    """Give the queues their fair shares of an amount, and their children theirs of those."""
    shares = []
    for i, unit in enumerate(UNITS):
        claims = [
            Claim(
                deserved=queue.terms.deserved[i],
                limit=queue.terms.limit[i],
                weight=queue.terms.weight[i],
                request=queue.request[i],
                priority=queue.priority,
                usage=queue.usage[i],
            )
            for queue in queues
        ]
        divide(amount[i], claims, k, unit)
        shares.append([claim.share for claim in claims])
    for queue, cpu, memory, gpus in zip(queues, *shares, strict=True):
        queue.settle((cpu, memory, gpus), cluster_total)
        if queue.children:
            share_out(queue.fair_share, queue.children, k, cluster_total)


def divide(total: int, claims: Sequence[Claim], k: Fraction, unit: int = 1) -> int:
    """Share out ``total``; answers what nobody took, negative where quotas promise too much.

    Claims are served in the order given, the older queue first. Beyond the quotas whole units
    are handed out, and what rounding leaves goes one unit at a time to whoever lost most by it.
    """
    remaining = total
    for claim in claims:
        quota = total if claim.deserved == math.inf else int(claim.deserved)
        claim.share = min(quota, claim.requestable)
        remaining -= claim.share
    if remaining <= 0:
        return remaining
    by_priority: dict[int, list[Claim]] = {}
    for claim in claims:
        by_priority.setdefault(claim.priority, []).append(claim)
    lost: list[list[tuple[Fraction, Claim]]] = []
    for priority in sorted(by_priority, reverse=True):
        remaining, left = _by_weight(remaining, by_priority[priority], k, unit)
        lost.append(left)
    for group in lost:
        # A stable sort: among equal losses the older queue stays first.
        for _, claim in sorted(group, key=lambda entry: -entry[0]):
            if remaining <= 0:
                return remaining
            given = min(unit, remaining)
            claim.share += given
            remaining -= given
    return remaining


def _by_weight(
    amount: int, claims: Sequence[Claim], k: Fraction, unit: int
) -> tuple[int, list[tuple[Fraction, Claim]]]:
    """Hand out by weight until everybody has enough; what is left, and what rounding cost whom."""
    lost: dict[int, Fraction] = {}
    while True:
        hungry = [(i, claim) for i, claim in enumerate(claims) if claim.missing > 0]
        weights = _weights([claim for _, claim in hungry], k)
        together = sum(weights)
        if not together:
            break
        round_amount, again = amount, False
        for (i, claim), weight in zip(hungry, weights, strict=True):
            if not claim.weight:
                continue
            if not amount:
                break
            need, part = claim.missing, round_amount * weight / together
            if need <= part:
                given = need
                lost.pop(i, None)
            else:
                given = math.floor(part / unit) * unit
                if part > given:
                    lost[i] = part - given
            if given:
                claim.share += given
                amount -= given
                again = again or need < part
        if not again or not amount:
            break
    return amount, [(lost[i], claim) for i, claim in enumerate(claims) if i in lost]


def _weights(claims: Iterable[Claim], k: Fraction) -> list[Fraction]:
    """What each counts: its part of all weights, corrected by what it has used lately."""
    claims = list(claims)
    total = sum((claim.weight for claim in claims), _ZERO)
    if not total:
        return [_ZERO] * len(claims)
    parts = [claim.weight / total for claim in claims]
    return [
        max(_ZERO, part + k * (part - claim.usage))
        for part, claim in zip(parts, claims, strict=True)
    ]
