"""Whether a queue could hold a task after evictions, answered without evicting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pumice import Queue, Session, Task
from pumice.combine import All, FirstError, Rule


class QueueLookahead:
    """Asks the plugins that limit queues, through their simulation hooks, what evictions change.

    Evicting on trial and undoing it is expensive where a queue is far above its limits. There is
    an answer only if every plugin of ``allocatable`` also answers the simulation hooks.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        voters = session.ask.voters
        self._limiting = {impl.plugin for tier in voters["allocatable"] for impl, _ in tier}
        self._remove = self._compiled("simulate_remove_task", FirstError())
        self._allows = self._compiled("simulate_allocatable", All())

    def _compiled(self, point: str, rule: Rule) -> Any:
        """The point as those plugins answer it; None when one of them does not."""
        tiers = [
            [impl for impl, _ in tier if impl.plugin in self._limiting]
            for tier in self._session.ask.voters[point]
        ]
        if {impl.plugin for tier in tiers for impl in tier} != self._limiting:
            return None
        return rule.compile(point, tiers, lambda error: None)

    def stays_full(self, queue: Queue, task: Task, row: int, victims: Sequence[Task]) -> bool:
        """Whether the queue could not hold the task even without all these victims."""
        if self._remove is None or self._allows is None:
            return False
        node = self._session.nodes.handle(row)
        state: dict[str, Any] = {}
        if any(self._remove(state, task, victim, node) is not None for victim in victims):
            return False
        return not self._allows(state, queue, task)


class FullQueue:
    """Whether a queue stays too full for a task, asked for one node after the other."""

    def __init__(
        self, session: Session, lookahead: QueueLookahead | None, queue: Queue, task: Task
    ) -> None:
        self._session = session
        self._lookahead = lookahead
        self._queue = queue
        self._task = task
        self._is_full: bool | None = None
        self._without_victims: bool | None = None
        """The answer for a node without victims, which is the same for all of them."""

    def stays_full(self, row: int, victims: Sequence[Task]) -> bool:
        """Whether the queue is known to be too full even without these victims."""
        if self._is_full is None:
            self._is_full = not self._session.ask.allocatable(self._queue, self._task)
        if not self._is_full or self._lookahead is None:
            return False
        if victims:
            return self._lookahead.stays_full(self._queue, self._task, row, victims)
        if self._without_victims is None:
            self._without_victims = self._lookahead.stays_full(self._queue, self._task, row, ())
        return self._without_victims
