"""Runs cycles and stores what the page shows of them, within bounds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pumice.errors import PumiceError
from pumice.explain import ExplainedCycle, run_explained
from pumice.serve.views import CycleView, cycle_view

if TYPE_CHECKING:
    from pumice.decisions import Decisions
    from pumice.scheduler import Scheduler

MOST_CYCLES = 200
"""Cycles that can be looked at; older ones are dropped."""
LIVE_CYCLES = 50
"""The same for a live cluster, which may be large."""
MOST_TASKS = 400_000
"""Tasks of all cycles that can be explained; the last cycle always can."""

T = TypeVar("T")


class UnknownError(PumiceError):
    """A cycle, job or node that does not exist, or no longer."""


class History:
    """The cycles of one scheduler.

    The scheduler must build every cluster from scratch (``fresh``), so that the session of a cycle
    stays as it ended, unless only the last cycle can be explained (``live``). Sessions are read by
    one thread at a time; views by any.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        between: Callable[[], None] = lambda: None,
        *,
        live: bool = False,
        most_cycles: int = MOST_CYCLES,
        most_tasks: int = MOST_TASKS,
    ) -> None:
        """``between`` carries out the decisions of a cycle before the next one."""
        self.scheduler = scheduler
        self.live = live
        """Whether the cycles are those of a live cluster, which the page cannot ask for."""
        self._between = between
        self._most_cycles = LIVE_CYCLES if live else most_cycles
        self._most_tasks = 0 if live else most_tasks
        self._views: dict[int, CycleView] = {}
        self._explained: dict[int, ExplainedCycle] = {}
        self._lock = threading.Lock()

    @property
    def views(self) -> list[CycleView]:
        """The stored cycles, the oldest first."""
        return list(self._views.values())

    def run_cycle(self) -> CycleView:
        """Run one more cycle and store its view."""
        with self._lock:
            if self._views:
                self._between()
            if self.live:
                self._explained.clear()  # the next session changes what the last one shows
            explained = run_explained(self.scheduler)
            view = cycle_view(explained.session, explained.number)
            self._explained[view.cycle] = explained
            self._views = {**self._views, view.cycle: view}
            self._drop_oldest()
            return view

    @property
    def last_decisions(self) -> Decisions:
        """The decisions of the last cycle."""
        return self._explained[max(self._explained)].session.decisions

    def view(self, cycle: int | None = None) -> CycleView:
        """The view of a cycle; None: the last one.

        :raises UnknownError: there is no such cycle.
        """
        views = self._views
        number = max(views) if cycle is None else cycle
        if number not in views:
            raise UnknownError(
                f"there is no cycle {number}", hint=f"cycles {min(views)} to {max(views)} exist"
            )
        return views[number]

    def explainable(self, cycle: int) -> bool:
        """Whether jobs of the cycle can be explained."""
        return cycle in self._explained

    def read(self, cycle: int | None, reader: Callable[[ExplainedCycle], T]) -> T:
        """What a function reads from the session of a cycle.

        :raises UnknownError: there is no such cycle, or its session was dropped.
        """
        number = self.view(cycle).cycle
        with self._lock:
            explained = self._explained.get(number)
            if explained is None:
                raise UnknownError(
                    f"cycle {number} is too old: only its tables are stored",
                    hint=f"cycles from {min(self._explained)} on can be explained",
                )
            return reader(explained)

    def _drop_oldest(self) -> None:
        views = self._views
        self._views = {number: views[number] for number in list(views)[-self._most_cycles :]}
        tasks = 0
        for position, number in enumerate(sorted(self._explained, reverse=True)):
            tasks += len(self._explained[number].session.cluster.tasks)
            if position and (tasks > self._most_tasks or number not in self._views):
                del self._explained[number]
