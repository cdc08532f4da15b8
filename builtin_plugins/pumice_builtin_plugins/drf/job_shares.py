"""Dominant shares of jobs: the largest part of a resource of the cluster that a job holds."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import Job, Task


class JobShare:
    """What one job holds, promised room included. The share is worked out when it is asked."""

    __slots__ = ("_remembers", "_share", "_total", "held", "job")

    def __init__(
        self, job: Job, total: Sequence[tuple[int, int]], *, remembers: bool = True
    ) -> None:
        self.job = job
        self.held: list[int] = job.allocated.tolist()
        self._total = total
        self._share: float | None = None
        self._remembers = remembers

    @property
    def share(self) -> float:
        if self._share is None or not self._remembers:
            self._share = dominant_share(self.held, self._total)
        return self._share

    def add(self, task: Task) -> None:
        held = self.held
        for position, amount in enumerate(task.vector.tolist()):
            if amount:
                held[position] += amount
        self._share = None

    def take(self, task: Task) -> None:
        held = self.held
        for position, amount in enumerate(task.vector.tolist()):
            if amount:
                held[position] -= amount
        self._share = None


def existing(total: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """(position, amount) of the resources that the cluster has, pods included."""
    return tuple((position, amount) for position, amount in enumerate(total) if amount > 0)


def dominant_share(held: Sequence[float], total: Sequence[tuple[int, int]]) -> float:
    """The largest part of a resource of the cluster; ``total`` as :func:`existing` gives it."""
    largest = 0.0
    for position, amount in total:
        part = held[position] / amount
        if part > largest:
            largest = part
    return largest
