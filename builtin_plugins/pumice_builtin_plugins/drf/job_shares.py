"""Dominant shares of jobs: the largest part of a resource of the cluster that a job holds."""

from __future__ import annotations

from pumice import Job, Task
from pumice_builtin_plugins.quota.dominant_share import Totals, dominant_share


class JobShare:
    """What one job holds, promised room included. The share is worked out when it is asked."""

    __slots__ = ("_remembers", "_share", "_total", "held", "job")

    def __init__(self, job: Job, total: Totals, *, remembers: bool = True) -> None:
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
