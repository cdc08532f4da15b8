"""Topology-aware preemption: simulate evictions node by node, take the least harmful victims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from pumice import RequestFit, Session, Task
from pumice_builtin_actions.greedy.eviction import fits_without

_PRIORITY_OFFSET = 1 << 31
"""Added to every priority in a sum, so that one more victim always makes the sum larger."""


class CandidateLimits(NamedTuple):
    """How many candidate nodes are enough to choose from."""

    percentage: int
    least: int
    most: int

    def wanted(self, count: int) -> int:
        return min(max(count * self.percentage // 100, self.least), self.most, count)


class Candidate(NamedTuple):
    """A node that fits once these victims are gone, the most important victim first."""

    row: int
    victims: list[Task]


def best_candidate(
    session: Session,
    task: Task,
    rows: np.ndarray,
    evictable_on: Callable[[int], Sequence[Task]],
    wanted: int,
) -> Candidate | None:
    """The least harmful of the first ``wanted`` nodes on which evictions make the task fit."""
    candidates: list[Candidate] = []
    for row in rows.tolist():
        if len(candidates) >= wanted:
            break
        victims = select_victims(session, task, row, evictable_on(row))
        if victims:
            candidates.append(Candidate(row, victims))
    return min(candidates, key=lambda c: _harm(c.victims, session.now), default=None)


def _harm(victims: list[Task], now: float) -> tuple[int, int, int, float]:
    # Volcano compares pod priorities here, not those of tasks, and ignores disruption budgets.
    priorities = [victim.pod.priority or 0 for victim in victims]
    highest = max(priorities)
    started = min(
        now if victim.pod.start_time is None else victim.pod.start_time
        for victim, priority in zip(victims, priorities, strict=True)
        if priority == highest
    )
    total = sum(priority + _PRIORITY_OFFSET for priority in priorities)
    return priorities[0], total, len(victims), -started


def select_victims(session: Session, task: Task, row: int, evictable: Sequence[Task]) -> list[Task]:
    """The tasks to evict from one node, the most important first; empty: it is no candidate."""
    allowed = session.ask.preemptable(task, evictable) if evictable else []
    fit = RequestFit(task.vector)
    if not fits_without(session.nodes, row, fit, allowed):
        return []
    # A dry run changes no job, so the victim order can be sorted once.
    ordered = session.order.sorted_victims(allowed, task, session.queues)
    with _DryRun(session, task, row, fit) as run:
        removed: list[Task] = []
        for victim in ordered:
            removed.append(victim)
            if not run.remove(victim):
                return []
            if run.fits():
                break
        if not removed or not run.passes():
            return []
        victims = []
        # Reprieve: put back, the most important first, whatever need not go.
        for reprieved in reversed(removed):
            if not run.put_back(reprieved):
                return []
            if not run.fits():
                if not run.remove(reprieved):
                    return []
                victims.append(reprieved)
        return victims


class _DryRun:
    """One node of the session without some of its tasks; leaving it puts them back.

    Only the node's row changes. Plugins see no allocate or deallocate event: they follow through
    the simulation hooks, with a state that belongs to this run.
    """

    def __init__(self, session: Session, task: Task, row: int, fit: RequestFit) -> None:
        self._fit = fit
        self._ask = session.ask
        self._nodes = session.nodes
        self._task = task
        self._row = row
        self._node = session.nodes.handle(row)
        self._queue = session.queues[task.queue]
        self._state: dict[str, Any] = {}
        self._order = list(session.nodes.held[row])
        self._removed: dict[str, Task] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        nodes, row = self._nodes, self._row
        for victim in self._removed.values():
            nodes.add(row, victim, victim.status)
        held = nodes.held[row]
        nodes.held[row] = {uid: held[uid] for uid in self._order}

    def remove(self, victim: Task) -> bool:
        self._nodes.remove(self._row, victim)
        self._removed[victim.uid] = victim
        error = self._ask.simulate_remove_task(self._state, self._task, victim, self._node)
        return error is None

    def put_back(self, victim: Task) -> bool:
        self._nodes.add(self._row, victim, victim.status)
        del self._removed[victim.uid]
        return self._ask.simulate_add_task(self._state, self._task, victim, self._node) is None

    def passes(self) -> bool:
        """Whether the filters that take part in simulations accept the node."""
        return self._ask.simulate_predicate(self._state, self._task, self._node) is None

    def fits(self) -> bool:
        return (
            self._ask.simulate_allocatable(self._state, self._queue, self._task)
            and self._fit.fits(self._nodes.future_idle[self._row].tolist())
            and self.passes()
        )
