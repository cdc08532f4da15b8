"""How many tasks of a claimant fit the nodes at most: a bound that needs no simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from pumice.model.nodes import NodeTable
from pumice.model.task import Task

Request = tuple[tuple[int, int], ...]
"""A task's request: dimensions and amounts."""
RequestCounts = Mapping[Request, int]
"""How many tasks have which request."""


def request_of(task: Task) -> Request:
    """A task's request; empty for a best-effort task, which fits any node."""
    if task.best_effort:
        return ()
    return tuple((i, amount) for i, amount in enumerate(task.vector.tolist()) if amount > 0)


class CapacityBound:
    """Finds plans that cannot succeed: their victims release too little.

    A node fits at most floor(free / request) tasks with a request. Evicting victims adds what they
    hold to free, and every placement takes from it, also that of a victim that is placed again. So
    if the nodes fit fewer tasks than the claimant has, the simulation fails. Victims that share
    GPUs are not counted: they may release a whole GPU.
    """

    def __init__(self, nodes: NodeTable, requests: Iterable[Request], rows: np.ndarray) -> None:
        """Made before any eviction. ``rows`` are open to the claimant without an eviction."""
        self._row_of = nodes.row_of
        self._free = nodes.future_idle.copy()
        self._fitting: dict[Request, list[int]] = {}
        """By request and row: how many tasks fit without an eviction; 0 where the row is closed."""
        self._total: dict[Request, int] = {}
        for request in {request for request in requests if request}:
            fitting = np.zeros(len(nodes), np.int64)
            fits = [self._free[rows, i] // amount for i, amount in request]
            fitting[rows] = np.minimum.reduce(fits).clip(0)
            self._fitting[request] = fitting.tolist()
            self._total[request] = int(fitting.sum())

    def open(self, rows: Iterable[int]) -> None:
        """Open more rows to the claimant, whether or not a victim is on them."""
        for row in rows:
            free = self._free[row].tolist()
            for request, fitting in self._fitting.items():
                count = _fitting_count(free, request)
                self._total[request] += count - fitting[row]
                fitting[row] = count

    def may_fit(
        self, wanted: RequestCounts, victims: Sequence[Task], *, with_victims: bool = False
    ) -> bool:
        """Whether the wanted tasks may fit once these victims have been evicted.

        ``with_victims``: and the victims themselves, on any node.
        """
        released: dict[int, list[int]] | None = None
        for request, count in wanted.items():
            if not request:
                continue
            if with_victims:
                count += sum(1 for task in victims if _requests_as_much(task, request))
            missing = count - self._total[request]
            if missing <= 0:
                continue
            if released is None:
                if any(task.gpu_groups for task in victims):
                    return True
                released = self._free_without(victims)
            fitting = self._fitting[request]
            for row, free in released.items():
                missing -= _fitting_count(free, request) - fitting[row]
            if missing > 0:
                return False
        return True

    def _free_without(self, victims: Sequence[Task]) -> dict[int, list[int]]:
        """By row: what is free on each node of a victim once the victims are evicted."""
        free_on: dict[int, list[int]] = {}
        for task in victims:
            row = self._row_of.get(task.node)
            if row is not None:
                free = free_on.get(row) or self._free[row].tolist()
                free_on[row] = [a + b for a, b in zip(free, task.vector.tolist(), strict=True)]
        return free_on


def _fitting_count(free: list[int], request: Request) -> int:
    return min(max(free[i], 0) // amount for i, amount in request)


def _requests_as_much(task: Task, request: Request) -> bool:
    vector = task.vector
    return not task.best_effort and all(vector[i] >= amount for i, amount in request)
