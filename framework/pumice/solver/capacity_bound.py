"""How many tasks of a claimant fit the nodes at most: a bound that needs no simulation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import add

import numpy as np

from pumice.model.nodes import NodeTable
from pumice.model.task import Task

Request = tuple[tuple[int, int], ...]
"""A task's request: dimensions and amounts."""
FreedRows = dict[int, list[int]]
"""By row: amounts of the requested dimensions that evictions release, or that are free then."""
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
    tasks than the claimant has, the simulation fails. Victims that share GPUs must not
    be counted: they may release a whole GPU.
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
        self._dimensions = sorted({dimension for request in requests for dimension, _ in request})
        self._free = nodes.future_idle[:, self._dimensions]
        """By row: free amounts of the requested dimensions only."""
        self._free_lists: FreedRows = {}
        """The same, of rows that were asked for."""
        self._amounts: dict[int, tuple[np.ndarray, list[int]]] = {}
        """By the identity of a task's vector, which tasks of one pod template share."""
        self._rows = rows
        self._opened: set[int] = set()
        self._tables: dict[Request, RequestTable] = {}
        """By request: how many tasks fit."""
        self._unfiltered: dict[Request, RequestTable] = {}
        """By request: how many tasks fit without regard to the filters; made when needed."""
        for request, rejected in requests.items():
            if request:
                self._tables[request] = RequestTable(
                    self._local(request), self._free, rows, rejected
                )

    def _local(self, request: Request) -> list[tuple[int, int]]:
        """A request by the columns of the free amounts."""
        return [(self._dimensions.index(i), amount) for i, amount in request]

    def open(self, rows: Iterable[int]) -> None:
        """Open more rows to the claimant, whether or not a victim is on them."""
        for row in rows:
            self._opened.add(row)
            free = self.free_on(row)
            for table in (*self._tables.values(), *self._unfiltered.values()):
                table.open(row, free)

    def _without_filters(self, request: Request) -> RequestTable:
        table = self._unfiltered.get(request)
        if table is None:
            table = RequestTable(self._local(request), self._free, self._rows, None)
            for row in self._opened:
                table.open(row, self.free_on(row))
            self._unfiltered[request] = table
        return table

    def may_fit(self, wanted: RequestCounts, released: FreedRows) -> bool:
        """Whether the wanted tasks may fit once victims have released these amounts."""
        free_on: FreedRows | None = None
        for request, count in wanted.items():
            table = self.table_of(request)
            if table is None or count <= table.total:
                continue
            if free_on is None:
                free_on = self._free_with(released)
            if count > table.total_with(free_on):
                return False
        return True

    def may_fit_with(self, wanted: RequestCounts, victims: Sequence[Task]) -> bool:
        """Whether the wanted tasks and these victims, once evicted, may fit together.

        The victims may be placed on any node, so no node is left out.
        """
        if any(task.gpu_groups for task in victims):
            return True
        free_on: FreedRows | None = None
        for request, count in wanted.items():
            if not request:
                continue
            table, amounts = self._without_filters(request), self.amounts_of
            as_much = table.requests_as_much
            count += sum(1 for t in victims if not t.best_effort and as_much(amounts(t)))
            if count <= table.total:
                continue
            if free_on is None:
                free_on = self._free_with(self.released_by(victims))
            if count > table.total_with(free_on):
                return False
        return True

    def amounts_of(self, task: Task) -> list[int]:
        """What a task requests of the dimensions of the claimant's requests."""
        vector = task.vector
        known = self._amounts.get(id(vector))
        if known is None:
            known = self._amounts[id(vector)] = (vector, vector[self._dimensions].tolist())
        return known[1]

    def released_by(self, victims: Iterable[Task]) -> FreedRows:
        """What these victims release by row."""
        released: FreedRows = {}
        for task in victims:
            row = self._row_of.get(task.node)
            if row is not None:
                amounts, known = self.amounts_of(task), released.get(row)
                released[row] = amounts if known is None else list(map(add, known, amounts))
        return released

    def _free_with(self, released: FreedRows) -> FreedRows:
        """What is free on each of these rows with what is released there."""
        free = self.free_on
        return {row: list(map(add, free(row), amounts)) for row, amounts in released.items()}

    def free_on(self, row: int) -> list[int]:
        """What is free on a row of the requested dimensions."""
        # One by one: most plans are about a few of the nodes.
        free = self._free_lists.get(row)
        if free is None:
            free = self._free_lists[row] = self._free[row].tolist()
        return free

    def table_of(self, request: Request) -> RequestTable | None:
        """How many tasks with this request fit; None: any number."""
        return self._tables[request] if request else None


class RequestTable:
    """How many tasks with one request fit each node without an eviction."""

    __slots__ = ("_fitting", "_rejected", "_request", "opened", "total")

    def __init__(
        self,
        request: Sequence[tuple[int, int]],
        free: np.ndarray,
        rows: np.ndarray,
        rejected: np.ndarray | None,
    ) -> None:
        """``request``: columns of ``free`` and amounts."""
        self._request = request
        self._rejected = None if rejected is None else rejected.tolist()
        fitting = np.zeros(len(free), np.int64)
        counts = [free[rows, position] // amount for position, amount in request]
        least = counts[0] if len(counts) == 1 else np.minimum.reduce(counts)
        fitting[rows] = np.maximum(least, 0)
        if rejected is not None:
            fitting[rejected] = 0
        self._fitting: list[int] = fitting.tolist()
        """By row; 0 where the row is closed or rejected."""
        self.total = int(fitting.sum())
        self.opened = 0
        """How often a row was opened."""

    def open(self, row: int, free: list[int]) -> None:
        gain = self.gain(row, free)
        self.opened += 1
        self.total += gain
        self._fitting[row] += gain

    def gain(self, row: int, free: list[int]) -> int:
        """How many more tasks fit a row if it is open and this is free there."""
        if self._rejected is not None and self._rejected[row]:
            return 0
        return self._count(free) - self._fitting[row]

    def total_with(self, released: Mapping[int, list[int]]) -> int:
        """The total if this were free on some of the nodes, which are open then."""
        gain = self.gain
        return self.total + sum(gain(row, free) for row, free in released.items())

    def requests_as_much(self, amounts: list[int]) -> bool:
        """Whether a task with these amounts requests at least as much."""
        return all(amounts[position] >= amount for position, amount in self._request)

    def _count(self, free: list[int]) -> int:
        least = -1
        for position, amount in self._request:
            fitting = free[position] // amount
            if fitting <= 0:
                return 0
            if least < 0 or fitting < least:
                least = fitting
        return least
