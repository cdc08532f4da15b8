"""Dominant share: the largest fraction of any one resource that a job or a queue holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pumice import MIN_RESOURCE

Totals = tuple[tuple[int, float], ...]
"""(position, amount) of the resources that count in a share."""


def totals_of(amounts: Iterable[tuple[int, float]]) -> Totals:
    """The resources of which there is something, out of (position, amount) pairs."""
    return tuple((position, amount) for position, amount in amounts if amount >= MIN_RESOURCE)


def dominant_share(allocated: Sequence[float], totals: Totals) -> float:
    """The largest ``allocated / total`` over the resources in ``totals``; 0 where there is none."""
    largest = 0.0
    for position, total in totals:
        fraction = allocated[position] / total
        if fraction > largest:
            largest = fraction
    return largest
