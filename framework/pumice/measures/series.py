"""Amounts over time that change in steps."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pumice.simulation.record import Record


class Steps:
    """A value over time that stays as it is until the next change."""

    def __init__(self, times: np.ndarray, values: np.ndarray, end: float) -> None:
        self.times = times
        """When it changes, ascending."""
        self.values = values
        """The value from then on."""
        self.end = end
        """Until when it is known."""

    @classmethod
    def of_changes(cls, changes: Iterable[tuple[float, float]], end: float) -> Steps:
        """From pairs of a time and how much more it is from then on, ascending."""
        table = np.array(list(changes), float).reshape(-1, 2)
        return cls(table[:, 0], np.cumsum(table[:, 1]), end)

    def at(self, times: np.ndarray) -> np.ndarray:
        """The value at these times; 0 before the first change."""
        if not len(self.times):
            return np.zeros(len(times))
        positions = np.searchsorted(self.times, times, side="right") - 1
        values: np.ndarray = np.where(positions >= 0, self.values[positions], 0.0)
        return values

    def integral(self) -> float:
        """The sum of value times seconds."""
        if not len(self.times):
            return 0.0
        lengths = np.diff(np.append(self.times, max(self.end, float(self.times[-1]))))
        return float((lengths * self.values).sum())


def by_queue(changes: Iterable[tuple[float, int, float]], record: Record) -> list[Steps]:
    """One series for each queue."""
    split: list[list[tuple[float, float]]] = [[] for _ in record.queues]
    for time, queue, more in changes:
        split[queue].append((time, more))
    return [Steps.of_changes(each, record.end) for each in split]


def capacity(record: Record) -> Steps:
    """The size of the cluster."""
    return Steps.of_changes(record.capacity, record.end)


def common_times(*series: Steps) -> tuple[np.ndarray, np.ndarray]:
    """All times at which one of them changes, and the seconds until the next."""
    if not series:
        return np.array([]), np.array([])
    times = np.unique(np.concatenate([each.times for each in series]))
    lengths = np.diff(np.append(times, max(series[0].end, float(times[-1]) if len(times) else 0)))
    return times, lengths
