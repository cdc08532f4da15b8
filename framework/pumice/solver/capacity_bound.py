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

    A node fits at most floor(free / request) tasks with a request, and none where the filters
    reject the tasks for the whole cycle. Evicting victims adds what they hold to free, and every
    placement takes from it, also that of a victim that is placed again. So if the nodes fit fewer
    tasks than the claimant has, the simulation fails. Victims that share GPUs are not counted:
    they may release a whole GPU.
    """

    def __init__(
        self,
        nodes: NodeTable,
        requests: Mapping[Request, np.ndarray | None],
        rows: np.ndarray,
    ) -> None:
        """Made before any eviction. ``rows`` are open to the claimant without an eviction.

        ``requests`` has a mask for each request: the nodes that reject all tasks with it.
        """
        self._row_of = nodes.row_of
        self._free = nodes.future_idle.copy()
        self._tables = {
            request: (
                _Table(request, self._free, rows, rejected),
                _Table(request, self._free, rows, None),
            )
            for request, rejected in requests.items()
            if request
        }
        """By request: how many tasks fit with and without regard to the filters."""

    def open(self, rows: Iterable[int]) -> None:
        """Open more rows to the claimant, whether or not a victim is on them."""
        for row in rows:
            free = self._free[row].tolist()
            for tables in self._tables.values():
                for table in tables:
                    table.open(row, free)

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
            filtered, unfiltered = self._tables[request]
            checks = [(filtered, count)]
            if with_victims:
                count += sum(1 for task in victims if _requests_as_much(task, request))
                checks.append((unfiltered, count))
            for table, needed in checks:
                if needed <= table.total:
                    continue
                if released is None:
                    if any(task.gpu_groups for task in victims):
                        return True
                    released = self._free_without(victims)
                if needed > table.total_with(released):
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


class _Table:
    """How many tasks with one request fit each node without an eviction."""

    __slots__ = ("_fitting", "_rejected", "_request", "total")

    def __init__(
        self, request: Request, free: np.ndarray, rows: np.ndarray, rejected: np.ndarray | None
    ) -> None:
        self._request = request
        self._rejected = None if rejected is None else rejected.tolist()
        fitting = np.zeros(len(free), np.int64)
        fitting[rows] = np.minimum.reduce(
            [free[rows, position] // amount for position, amount in request]
        ).clip(0)
        if rejected is not None:
            fitting[rejected] = 0
        self._fitting: list[int] = fitting.tolist()
        """By row; 0 where the row is closed or rejected."""
        self.total = int(fitting.sum())

    def open(self, row: int, free: list[int]) -> None:
        if self._rejected is None or not self._rejected[row]:
            count = _fitting_count(free, self._request)
            self.total += count - self._fitting[row]
            self._fitting[row] = count

    def total_with(self, released: Mapping[int, list[int]]) -> int:
        """The total if this were free on some of the nodes, which are open then."""
        total, request, fitting, rejected = self.total, self._request, self._fitting, self._rejected
        for row, free in released.items():
            if rejected is None or not rejected[row]:
                total += _fitting_count(free, request) - fitting[row]
        return total


def _fitting_count(free: list[int], request: Request) -> int:
    return min(max(free[i], 0) // amount for i, amount in request)


def _requests_as_much(task: Task, request: Request) -> bool:
    vector = task.vector
    return not task.best_effort and all(vector[i] >= amount for i, amount in request)
