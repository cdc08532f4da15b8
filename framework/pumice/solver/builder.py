"""Grow a scenario victim by victim, passing over those that cannot work."""

from __future__ import annotations

from collections.abc import Sequence

from pumice.session.chunks import Chunks
from pumice.session.queue_tree import QueueTree
from pumice.solver.filters import ScenarioFilter
from pumice.solver.scenario import Scenario, VictimGroup


class ScenarioBuilder:
    """One scenario, grown in place from a queue of victims."""

    def __init__(
        self,
        scenario: Scenario,
        victims: QueueTree,
        chunks: Chunks,
        filters: Sequence[ScenarioFilter],
    ) -> None:
        self._scenario = scenario
        self._victims = victims
        self._chunks = chunks
        self._filters = filters
        self.refused = 0
        """Scenarios that a filter refused without a simulation."""

    def first(self) -> Scenario | None:
        """The scenario as it is, or the next one that the filters let through."""
        return self._scenario if self._passes() else self.next()

    def next(self) -> Scenario | None:
        """The scenario with at least one more group of victims; None: there are no more."""
        while self._victims:
            if self._grow() and self._passes():
                return self._scenario
        return None

    def _passes(self) -> bool:
        if all(rule.may_work(self._scenario) for rule in self._filters):
            return True
        self.refused += 1
        return False

    def _grow(self) -> bool:
        job = self._victims.pop()
        tasks, has_more = self._chunks.to_evict(job)
        scenario = self._scenario
        if any(task.uid in scenario.recorded_uids for task in tasks):
            left = [t for t in job.tasks.values() if t.uid not in scenario.recorded_uids]
            if left:
                self._victims.push(job.subset(left))
            return False
        if has_more:
            going = {task.uid for task in tasks}
            self._victims.push(job.subset(t for t in job.tasks.values() if t.uid not in going))
        if not tasks or tasks[0].job is None:
            return False
        scenario.add(VictimGroup(tasks[0].job, tasks))
        return True
