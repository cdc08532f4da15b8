"""Measures of jobs: how long they wait and take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from pumice.measures.measure import Measure, percentiles
from pumice.simulation.record import JobRecord, Record

_SIZES = ((1.0, "below 1"), (2.0, "1"), (8.0, "2-7"), (16.0, "8-15"), (math.inf, "16 and more"))
_BOUND = 600.0
"""Seconds below which a run time counts as this much, so that short jobs do not dominate."""


def size_class(amount: float) -> str:
    """The class of sizes that a job belongs to."""
    return next(name for limit, name in _SIZES if amount < limit)


def _grouped(record: Record, value: Callable[[JobRecord], float | None]) -> dict[str, float]:
    """Percentiles of a value of the jobs, of all and by queue and size."""
    known = [(job, seconds) for job in record.jobs if (seconds := value(job)) is not None]
    figures = percentiles(seconds for _, seconds in known)
    groups: dict[str, list[float]] = {}
    for job, seconds in known:
        groups.setdefault(f"queue.{job.job.queue}", []).append(seconds)
        groups.setdefault(f"size.{size_class(job.amount)}", []).append(seconds)
    for name in sorted(groups):
        figures |= percentiles(groups[name], f"{name}.")
    return figures


class Delay(Measure):
    """Seconds from the submission of a job to its first start, by queue and size."""

    def figures(self, record: Record) -> Mapping[str, float]:
        return _grouped(record, lambda job: job.delay)


class CompletionTime(Measure):
    """Seconds from the submission of a job to its end (JCT), by queue and size."""

    def figures(self, record: Record) -> Mapping[str, float]:
        return _grouped(record, lambda job: job.jct)


class Slowdown(Measure):
    """Completion time over run time; run times below 10 minutes count as 10 minutes."""

    def figures(self, record: Record) -> Mapping[str, float]:
        return percentiles(
            max(job.jct / max(job.job.duration, _BOUND), 1.0)
            for job in record.jobs
            if job.jct is not None
        )


class Starvation(Measure):
    """The longest wait of any job and of the largest size class, and jobs that never started."""

    def figures(self, record: Record) -> Mapping[str, float]:
        waits = [
            (job.amount, (record.end if job.start is None else job.start) - job.job.submit)
            for job in record.jobs
        ]
        largest = size_class(max((amount for amount, _ in waits), default=0.0))
        return {
            "longest": max((wait for _, wait in waits), default=math.nan),
            "longest_of_largest": max(
                (wait for amount, wait in waits if size_class(amount) == largest),
                default=math.nan,
            ),
            "never_started": sum(1 for job in record.jobs if job.start is None),
            "unfinished": sum(1 for job in record.jobs if job.finish is None),
        }
