"""Measures of the cluster: how well it is used, and what evictions cost."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

import numpy as np

from pumice.measures.measure import Measure
from pumice.measures.series import Steps, capacity
from pumice.simulation.record import Record


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan


def _used(record: Record) -> float:
    changes = ((time, more) for time, _, more in record.used)
    return Steps.of_changes(changes, record.end).integral()


def _lost(record: Record) -> float:
    return sum(job.lost * job.amount for job in record.jobs)


class Utilisation(Measure):
    """The part of the cluster that is allocated, and seconds until all jobs are done."""

    higher_is_better = True

    def figures(self, record: Record) -> Mapping[str, float]:
        return {
            "allocated": _ratio(_used(record), capacity(record).integral()),
            "makespan": record.end,
        }


class LostWork(Measure):
    """Work that was done again after evictions and failures, in hours and as a part of all."""

    def figures(self, record: Record) -> Mapping[str, float]:
        lost = _lost(record)
        return {"hours": lost / 3600, "part": _ratio(lost, _used(record))}


class Goodput(Measure):
    """The part of the cluster that did work which was not lost."""

    higher_is_better = True

    def figures(self, record: Record) -> Mapping[str, float]:
        return {"": _ratio(_used(record) - _lost(record), capacity(record).integral())}


class Evictions(Measure):
    """Pods evicted, jobs stopped, how often the same job was, and evicted for each requested."""

    def figures(self, record: Record) -> Mapping[str, float]:
        stops = Counter(job.evictions for job in record.jobs if job.evictions)
        stopped = sum(stops.values())
        evicted = sum(eviction.amount for eviction in record.evictions if eviction.claimant)
        return {
            "pods": len(record.evictions),
            "jobs": stopped,
            "repeated": sum(count for times, count in stops.items() if times > 1),
            "most_of_one_job": max(stops, default=0),
            "for_each_requested": _ratio(evicted, sum(record.claims.values())),
        }


class FragmentationMeasure(Measure):
    """The part of what is free that a pod of the trace, drawn by chance, cannot use."""

    def figures(self, record: Record) -> Mapping[str, float]:
        if not record.fragments:
            return {"": math.nan}
        table = np.array(record.fragments)
        lengths = np.diff(np.append(table[:, 0], max(record.end, table[-1, 0])))
        return {
            "": _ratio(float((lengths * table[:, 2]).sum()), float((lengths * table[:, 1]).sum()))
        }


class Convergence(Measure):
    """Cycles until nothing is decided any more after a change, and evictions on the way."""

    def figures(self, record: Record) -> Mapping[str, float]:
        chains = record.chains
        return {
            "cycles_mean": _ratio(sum(chains), len(chains)),
            "cycles_max": max(chains, default=0),
            "late_evictions": record.late_evictions,
            "unsettled": record.unsettled,
        }
