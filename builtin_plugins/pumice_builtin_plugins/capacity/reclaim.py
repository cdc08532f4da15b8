"""Which tasks the capacity plugin lets other queues reclaim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pumice import Task
from pumice_builtin_plugins.capacity.queues import CapacityQueue
from pumice_builtin_plugins.quota.resource_columns import (
    ResourceColumns,
    add_request,
    subtract_request,
)


class VictimSelection:
    """One selection of victims; what their queues would have left is counted along the way."""

    def __init__(
        self, queues: Mapping[str, CapacityQueue], columns: ResourceColumns, levels: int
    ) -> None:
        self._queues = queues
        self._columns = columns
        self._levels = levels
        """How many ancestors' deserved amounts count."""
        self._remaining: dict[str, list[int]] = {}

    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that may be reclaimed for a task, tried in the given order."""
        columns = self._columns
        requested = columns.requested(reclaimer)
        by = (self._queues[reclaimer.queue], reclaimer)
        return [
            task
            for task in candidates
            if not requested.isdisjoint(columns.requested(task)) and self._select(task, by)
        ]

    def above_deserved(self, candidates: Sequence[Task]) -> list[Task]:
        """The candidates that their queues hold beyond guarantee and deserved."""
        return [task for task in candidates if self._select(task)]

    def give_back(self, task: Task) -> None:
        """Count a task that is evicted already as if its queues still held it."""
        for member in self._queues[task.queue].path:
            add_request(self._remaining_of(member), task)

    def exceeds_deserved(self, task: Task) -> bool:
        """Whether the task's queue holds more than it deserves of what the task requests."""
        return self._exceeds_deserved(self._queues[task.queue], task)

    def _select(self, task: Task, reclaimer: tuple[CapacityQueue, Task] | None = None) -> bool:
        queue = self._queues.get(task.queue)
        if queue is None or self._cuts_guarantee(queue, task):
            return False
        if not self._exceeds_deserved(queue, task):
            return False
        if reclaimer is not None and not self._ancestors_agree(queue, task, *reclaimer):
            return False
        for member in queue.path:
            subtract_request(self._remaining_of(member), task)
        return True

    def _remaining_of(self, queue: CapacityQueue) -> list[int]:
        remaining = self._remaining.get(queue.name)
        if remaining is None:
            remaining = self._remaining[queue.name] = list(queue.account.allocated)
        return remaining

    def _cuts_guarantee(self, queue: CapacityQueue, task: Task) -> bool:
        if not queue.guaranteed:
            return False
        remaining = list(self._remaining_of(queue))
        subtract_request(remaining, task)
        return any(amount > remaining[position] for position, amount in queue.guaranteed)

    def _exceeds_deserved(self, queue: CapacityQueue, task: Task) -> bool:
        """Whether the task is an immediate victim, or uses a resource held beyond deserved."""
        if _is_immediate_victim(queue, task):
            return True
        remaining, deserved = self._remaining_of(queue), queue.deserved_amounts
        for position, _ in self._columns.request(task):
            if position in deserved and remaining[position] > deserved[position]:
                return True
        return False

    def _ancestors_agree(
        self, queue: CapacityQueue, task: Task, reclaimer_queue: CapacityQueue, reclaimer: Task
    ) -> bool:
        if not self._levels:
            return True
        levels = range(1, self._levels + 1)
        if (
            _is_immediate_victim(queue, task)
            and _is_immediate_victim(reclaimer_queue, reclaimer)
            and {q for n in levels if (q := queue.ancestor(n))}
            & {q for n in levels if (q := reclaimer_queue.ancestor(n))}
        ):
            # Two relatives that deserve nothing would reclaim from each other in every cycle.
            return False
        for level in levels:
            ancestor = queue.ancestor(level)
            if ancestor is None or ancestor is reclaimer_queue.ancestor(level):
                continue
            if not self._exceeds_deserved(ancestor, task):
                return False
        return True


def _is_immediate_victim(queue: CapacityQueue, task: Task) -> bool:
    """Whether the queue deserves none of the resources that the task requests, pods included."""
    deserved = queue.deserved_amounts
    amounts = task.vector.tolist()
    for position, amount in deserved.items():
        if amount and position < len(amounts) and amounts[position]:
            return False
    return True
