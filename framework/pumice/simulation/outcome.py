"""The outcome of a run: figures, and the series that are plotted."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pumice.measures import Steps, measure_all
from pumice.measures.series import by_queue, capacity
from pumice.simulation.record import Record

POINTS = 240
"""How many points a plotted series has."""
_PARTS = 100


@dataclass(slots=True)
class Series:
    """What is plotted of one run."""

    unit: str
    """What amounts count: ``GPU`` or ``CPU``."""
    times: list[float] = field(default_factory=list)
    """Seconds since the start of the trace."""
    capacity: list[float] = field(default_factory=list)
    """The size of the cluster at these times."""
    deserved: dict[str, float] = field(default_factory=dict)
    """By queue: what it is entitled to."""
    used: dict[str, list[float]] = field(default_factory=dict)
    """By queue: what it uses, the mean since the point before."""
    demand: dict[str, list[float]] = field(default_factory=dict)
    """By queue: what its unfinished jobs request, the mean since the point before."""
    evictions: list[int] = field(default_factory=list)
    """Evicted pods since the point before."""
    delays: list[float] = field(default_factory=list)
    """The delay that 0 %, 1 %, … 100 % of the jobs do not exceed."""


@dataclass(slots=True)
class Outcome:
    """One policy with one seed."""

    policy: str
    """The name of the policy."""
    seed: int
    """The seed."""
    figures: dict[str, float]
    """The figures of all measures."""
    series: Series
    """What is plotted."""
    jobs: int
    """How many jobs there were."""
    cycles: int
    """How many cycles the scheduler ran."""
    faults: int
    """Faults of plugins and actions."""
    cpu_seconds: float = 0.0
    """Seconds of CPU that the run took; not part of reports, which are the same every time."""


def outcome_of(record: Record, policy: str, seed: int) -> Outcome:
    """The outcome of a simulation."""
    return Outcome(
        policy,
        seed,
        measure_all(record),
        series_of(record),
        jobs=len(record.jobs),
        cycles=record.cycles,
        faults=record.faults,
    )


def series_of(record: Record) -> Series:
    """What is plotted of a simulation."""
    edges = np.linspace(0.0, max(record.end, 1.0), POINTS + 1)
    delays = [job.delay for job in record.jobs if job.delay is not None]
    when = [eviction.time for eviction in record.evictions]
    return Series(
        record.unit,
        times=_rounded(edges[1:]),
        capacity=_rounded(capacity(record).at(edges[1:])),
        deserved=dict(zip(record.queues, record.deserved, strict=True)),
        used=_means(record, by_queue(record.used, record), edges),
        demand=_means(record, by_queue(record.demand, record), edges),
        evictions=np.histogram(when, edges)[0].tolist(),
        delays=_rounded(np.percentile(delays, np.arange(_PARTS + 1))) if delays else [],
    )


def _means(record: Record, series: list[Steps], edges: np.ndarray) -> dict[str, list[float]]:
    return {
        queue: _rounded(_mean(each, edges))
        for queue, each in zip(record.queues, series, strict=True)
    }


def _mean(steps: Steps, edges: np.ndarray) -> np.ndarray:
    """The mean value between one time and the next."""
    times = np.union1d(steps.times[steps.times <= edges[-1]], edges)
    areas = np.append(0.0, np.cumsum(steps.at(times[:-1]) * np.diff(times)))
    means: np.ndarray = np.diff(np.interp(edges, times, areas)) / np.diff(edges)
    return means


def _rounded(values: np.ndarray) -> list[float]:
    rounded: list[float] = (np.round(values, 3) + 0.0).tolist()
    return rounded
