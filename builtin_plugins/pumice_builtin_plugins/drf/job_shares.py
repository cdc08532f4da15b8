"""Dominant shares of jobs, updated by events."""

from __future__ import annotations

from pumice import Job, Task
from pumice_builtin_plugins.quota.dominant_share import Totals, dominant_share
from pumice_builtin_plugins.quota.resource_columns import add_request, subtract_request


class JobShare:
    """What one job holds, pipelined tasks included, and its dominant share of the cluster."""

    __slots__ = ("_cached", "_share", "_totals", "allocated", "job")

    def __init__(
        self, job: Job, totals: Totals, allocated: list[int], *, cached: bool = True
    ) -> None:
        """``cached``: the share is computed again only after a change, else on every access."""
        self.job = job
        self.allocated = allocated
        self._totals = totals
        self._share: float | None = None
        self._cached = cached

    @property
    def share(self) -> float:
        if self._share is None or not self._cached:
            self._share = dominant_share(self.allocated, self._totals)
        return self._share

    def allocate(self, task: Task) -> None:
        add_request(self.allocated, task)
        self._share = None

    def deallocate(self, task: Task) -> None:
        subtract_request(self.allocated, task)
        self._share = None
