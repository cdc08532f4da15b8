"""Policies side by side: means over the seeds, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pumice.simulation.outcome import Outcome

# Student's t for 95 %, by degrees of freedom from 1.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
_NORMAL = 1.96


class Spread(NamedTuple):
    """A figure over the seeds."""

    mean: float
    """The mean; NaN without values."""
    within: float
    """Half the width of the 95 % confidence interval; NaN with one seed."""


def spread(values: Iterable[float]) -> Spread:
    """Mean and confidence of the values that are not NaN."""
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return Spread(math.nan, math.nan)
    mean = math.fsum(known) / len(known)
    if len(known) < 2:
        return Spread(mean, math.nan)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in known) / (len(known) - 1))
    freedom = len(known) - 1
    factor = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
    return Spread(mean, factor * deviation / math.sqrt(len(known)))


def policies_of(outcomes: Sequence[Outcome]) -> list[str]:
    """The names of the policies in their order."""
    return list(dict.fromkeys(outcome.policy for outcome in outcomes))


def compared(outcomes: Sequence[Outcome]) -> dict[str, dict[str, Spread]]:
    """By figure, then by policy: the spread over the seeds."""
    names = list(dict.fromkeys(name for outcome in outcomes for name in outcome.figures))
    table: dict[str, dict[str, Spread]] = {}
    for name in names:
        table[name] = {
            policy: spread(o.figures.get(name, math.nan) for o in outcomes if o.policy == policy)
            for policy in policies_of(outcomes)
        }
    return table


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The stable shape of ``pumice simulate -o json``."""
    figures = compared(outcomes)
    return {
        "policies": policies_of(outcomes),
        "seeds": list(dict.fromkeys(outcome.seed for outcome in outcomes)),
        "figures": {
            name: {
                policy: {"mean": _number(value.mean), "within": _number(value.within)}
                for policy, value in by_policy.items()
            }
            for name, by_policy in figures.items()
        },
        "runs": [
            {
                "policy": outcome.policy,
                "seed": outcome.seed,
                "jobs": outcome.jobs,
                "cycles": outcome.cycles,
                "faults": outcome.faults,
                "figures": {key: _number(value) for key, value in outcome.figures.items()},
            }
            for outcome in outcomes
        ],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def series_rows(outcomes: Sequence[Outcome]) -> Iterable[tuple[object, ...]]:
    """The rows of the CSV file of time series, its header first."""
    yield ("policy", "seed", "seconds", "queue", "used", "demand", "deserved", "evictions")
    for outcome in outcomes:
        series = outcome.series
        for i, time in enumerate(series.times):
            for queue, used in series.used.items():
                demand, deserved = series.demand[queue][i], series.deserved[queue]
                yield (outcome.policy, outcome.seed, time, queue, used[i], demand, deserved, "")
            yield (outcome.policy, outcome.seed, time, "", "", "", "", series.evictions[i])
