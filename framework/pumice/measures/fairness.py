"""Measures of fairness between queues."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush

import numpy as np

from pumice.measures.measure import Measure, percentiles
from pumice.measures.series import Steps, by_queue, common_times
from pumice.simulation.record import JobRecord, Record


class Fairness(Measure):
    """Jain's index over what queues got of what they were due: 1 is perfectly fair.

    A queue is due what it deserves while it requests that much, else what it requests.
    """

    higher_is_better = True

    def figures(self, record: Record) -> Mapping[str, float]:
        parts = []
        for used, demand, deserved in _queues(record):
            times, lengths = common_times(used, demand)
            due = np.minimum(demand.at(times), deserved)
            owed = float((due * lengths).sum())
            if owed > 0:
                got = np.minimum(used.at(times), due)
                parts.append(float((got * lengths).sum()) / owed)
        total = sum(part * part for part in parts)
        return {
            "jain": sum(parts) ** 2 / (len(parts) * total) if total else math.nan,
            "worst": min(parts, default=math.nan),
        }


class QuotaViolation(Measure):
    """Time and amount by which queues with jobs waiting were below what they deserve, in hours."""

    def figures(self, record: Record) -> Mapping[str, float]:
        seconds = missing = longest = 0.0
        for used, demand, deserved in _queues(record):
            times, lengths = common_times(used, demand)
            short = np.minimum(demand.at(times), deserved) - used.at(times)
            below = short > 1e-9
            seconds += float(lengths[below].sum())
            missing += float((short * lengths)[below].sum())
            longest = max(longest, _longest_run(below, lengths))
        return {"hours": seconds / 3600, "amount": missing / 3600, "longest": longest / 3600}


class FinishTime(Measure):
    """Completion time over that in a private cluster of the deserved size, first come first.

    Above 1 a job was worse off than if the cluster had been divided.
    """

    def figures(self, record: Record) -> Mapping[str, float]:
        ratios: list[float] = []
        jobs: dict[str, list[JobRecord]] = {}
        for job in record.jobs:
            jobs.setdefault(job.job.queue, []).append(job)
        for queue, deserved in zip(record.queues, record.deserved, strict=True):
            own = jobs.get(queue, [])
            for job, alone in zip(own, private_times(own, deserved), strict=True):
                if job.jct is not None and alone:
                    ratios.append(job.jct / alone)
        figures = percentiles(ratios)
        worse = sum(1 for ratio in ratios if ratio > 1 + 1e-9)
        return figures | {"worse_off": worse / len(ratios) if ratios else math.nan}


def private_times(jobs: Sequence[JobRecord], size: float) -> list[float]:
    """Completion times if the jobs had so much for themselves, one after the other.

    A job that is larger than that waits until all of it is free.
    """
    ends: list[tuple[float, float]] = []
    free, now = size, 0.0
    times = []
    for job in jobs:
        needed = min(job.amount, size)
        now = max(now, job.job.submit)
        while ends and (ends[0][0] <= now or free < needed - 1e-9):
            end, amount = heappop(ends)
            now, free = max(now, end), free + amount
        heappush(ends, (now + job.job.duration, needed))
        free -= needed
        times.append(now + job.job.duration - job.job.submit)
    return times


def _queues(record: Record) -> list[tuple[Steps, Steps, float]]:
    used, demand = by_queue(record.used, record), by_queue(record.demand, record)
    return list(zip(used, demand, record.deserved, strict=True))


def _longest_run(mask: np.ndarray, lengths: np.ndarray) -> float:
    longest = current = 0.0
    for below, length in zip(mask.tolist(), lengths.tolist(), strict=True):
        current = current + length if below else 0.0
        longest = max(longest, current)
    return longest
