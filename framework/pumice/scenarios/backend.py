"""The embedded cluster of a scenario."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.model.facts import Inventory, Pod


class ScenarioBackend(MemoryBackend):
    """An embedded cluster in which some jobs are being deleted.

    Nothing makes new pods for a job that is being deleted, and its terminating pods stay.
    """

    def __init__(
        self, inventory: Inventory, *, deleted_jobs: Collection[str] = (), **settings: Any
    ) -> None:
        super().__init__(inventory, **settings)
        self._deleted_jobs = frozenset(deleted_jobs)

    def recreates(self, pod: Pod) -> bool:
        return pod.group not in self._deleted_jobs
