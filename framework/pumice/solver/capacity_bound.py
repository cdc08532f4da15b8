"""How many tasks like a claimant's the nodes could take: a bound that needs no simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pumice.model.nodes import NodeTable
from pumice.model.task import Task

Asked = tuple[tuple[int, int], ...]
"""What a task asks for: dimensions and amounts."""
Demand = Mapping[Asked, int]
"""How many tasks ask for what."""


def asked_by(task: Task) -> Asked:
    """What a task needs; nothing of one that is placed whether or not there is room."""
    if task.best_effort:
        return ()
    return tuple((i, amount) for i, amount in enumerate(task.vector.tolist()) if amount > 0)


class CapacityBound:
    """Tells of victims that no simulation with them alone can succeed.

    Of tasks that ask for at least so much a node takes no more than its free room goes round.
    Victims that leave free what they hold, and whatever is placed afterwards takes room, also a
    victim that comes back. So where the nodes have fewer slots than the claimant has tasks, one
    of these finds no room. Victims that share devices tell nothing: what they leave may be a
    whole device.
    """

    def __init__(self, nodes: NodeTable, requests: Iterable[Asked], rows: np.ndarray) -> None:
        """Made while nobody is evicted. ``rows`` are open to the claimant beside its victims'."""
        self._row_of = nodes.row_of
        self._room = nodes.future_idle.copy()
        self._counted: dict[Asked, list[int]] = {}
        """Per request and row: the slots without an eviction; 0 where the claimant may not go."""
        self._total: dict[Asked, int] = {}
        for asked in {asked for asked in requests if asked}:
            slots = np.zeros(len(nodes), np.int64)
            fits = [self._room[rows, i] // amount for i, amount in asked]
            slots[rows] = np.minimum.reduce(fits).clip(0)
            self._counted[asked] = slots.tolist()
            self._total[asked] = int(slots.sum())

    def open(self, rows: Iterable[int]) -> None:
        """Open more rows to the claimant, whether or not a victim leaves them."""
        for row in rows:
            room = self._room[row].tolist()
            for asked, counted in self._counted.items():
                slots = _capacity(room, asked)
                self._total[asked] += slots - counted[row]
                counted[row] = slots

    def suffice(
        self, demand: Demand, leaving: Sequence[Task], *, for_victims: bool = False
    ) -> bool:
        """Whether there may be room for the demand once these victims have left their nodes.

        ``for_victims``: and for the victims themselves, there or elsewhere.
        """
        freed: dict[int, list[int]] | None = None
        for asked, count in demand.items():
            if not asked:
                continue
            if for_victims:
                count += sum(1 for task in leaving if _asks_as_much(task, asked))
            missing = count - self._total[asked]
            if missing <= 0:
                continue
            if freed is None:
                if any(task.gpu_groups for task in leaving):
                    return True
                freed = self._freed(leaving)
            counted = self._counted[asked]
            for row, room in freed.items():
                missing -= _capacity(room, asked) - counted[row]
            if missing > 0:
                return False
        return True

    def _freed(self, leaving: Sequence[Task]) -> dict[int, list[int]]:
        """By row: the room of each node that victims leave, without them."""
        free: dict[int, list[int]] = {}
        for task in leaving:
            row = self._row_of.get(task.node)
            if row is not None:
                room = free.get(row) or self._room[row].tolist()
                free[row] = [a + b for a, b in zip(room, task.vector.tolist(), strict=True)]
        return free


def _capacity(room: list[int], asked: Asked) -> int:
    return min(max(room[i], 0) // amount for i, amount in asked)


def _asks_as_much(task: Task, asked: Asked) -> bool:
    vector = task.vector
    return not task.best_effort and all(vector[i] >= amount for i, amount in asked)
