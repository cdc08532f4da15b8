"""How many tasks of a claimant fit the nodes at most: a bound that needs no simulation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
_Columns = tuple[tuple[int, int], ...]
"""A request, or one amount, by the columns of the requested dimensions."""
_SIZES = 8
"""So many amounts of each resource are compared with the nodes, the largest ones."""


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
        self._nodes = nodes
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
        self._unfiltered: dict[_Columns, RequestTable] = {}
        """How many tasks fit without regard to the filters; made when needed."""
        for request, rejected in requests.items():
            if request:
                self._tables[request] = RequestTable(
                    self._local(request), self._free, rows, rejected
                )

    def _local(self, request: Request) -> _Columns:
        """A request by the columns of the free amounts."""
        return tuple((self._dimensions.index(i), amount) for i, amount in request)

    def open(self, rows: Iterable[int]) -> None:
        """Open more rows to the claimant, whether or not a victim is on them."""
        for row in rows:
            self._opened.add(row)
            free = self.free_on(row)
            for table in (*self._tables.values(), *self._unfiltered.values()):
                table.open(row, free)

    def _without_filters(self, size: _Columns) -> RequestTable:
        table = self._unfiltered.get(size)
        if table is None:
            table = RequestTable(size, self._free, self._rows, None)
            for row in self._opened:
                table.open(row, self.free_on(row))
            self._unfiltered[size] = table
        return table

    def may_fit_now(self, wanted: RequestCounts, rows: np.ndarray) -> bool:
        """Whether the wanted tasks may fit these rows as the nodes are now."""
        free: np.ndarray | None = None
        for request, count in wanted.items():
            table = self.table_of(request)
            if table is None:
                continue
            if free is None:
                free = self._nodes.future_idle[rows][:, self._dimensions]
            if count > int(table.counts(rows, free).sum()):
                return False
        return True

    def may_fit_with(self, wanted: RequestCounts, victims: Sequence[Task]) -> bool:
        """Whether the wanted tasks and these victims, once evicted, may fit together.

        The victims may be placed on any open row, so the filters are not asked. For any size s,
        the tasks that fit a node are worth at most floor(free / s) if each is worth
        floor(amount / s), by several resources the least of what it is worth by each.
        """
        if any(task.gpu_groups for task in victims):
            return True
        requests = {self._local(request): n for request, n in wanted.items() if request}
        needs: dict[tuple[int, ...], int] = {}
        for request, count in requests.items():
            own = dict(request)
            needs[tuple(own.get(at, 0) for at in range(len(self._dimensions)))] = count
        for task in victims:
            if not task.best_effort:
                key = tuple(self.amounts_of(task))
                needs[key] = needs.get(key, 0) + 1
        free_on: FreedRows | None = None
        for size in (*requests, *_sizes(needs)):
            table = self._without_filters(size)
            worth = sum(count * table.count(amounts) for amounts, count in needs.items())
            if worth <= table.total:
                continue
            if free_on is None:
                free_on = self._free_with(self.released_by(victims))
            if worth > table.total_with(free_on):
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

    __slots__ = ("_accepts", "_fitting", "_rejected", "_request", "opened", "total")

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
        self._accepts = None if rejected is None else ~rejected
        fitting = np.zeros(len(free), np.int64)
        fitting[rows] = self.counts(rows, free[rows])
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
        return self.count(free) - self._fitting[row]

    def total_with(self, released: Mapping[int, list[int]]) -> int:
        """The total if this were free on some of the nodes, which are open then."""
        gain = self.gain
        return self.total + sum(gain(row, free) for row, free in released.items())

    def counts(self, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
        """How many tasks fit each of these rows if it is open and this is free there."""
        counts = [free[:, position] // amount for position, amount in self._request]
        least = counts[0] if len(counts) == 1 else np.minimum.reduce(counts)
        fitting: np.ndarray = np.maximum(least, 0)
        return fitting if self._accepts is None else fitting * self._accepts[rows]

    def count(self, amounts: Sequence[int]) -> int:
        """How many tasks fit these amounts, without regard to the filters."""
        least = -1
        for position, amount in self._request:
            fitting = amounts[position] // amount
            if fitting <= 0:
                return 0
            if least < 0 or fitting < least:
                least = fitting
        return least


def _sizes(needs: Iterable[tuple[int, ...]]) -> Iterator[_Columns]:
    """The amounts of each resource that tasks need, the largest ones.

    Other resources than CPU and memory come last in a vector; they are the scarce ones.
    """
    for at, amounts in reversed(list(enumerate(zip(*needs, strict=True)))):
        for amount in sorted(set(amounts))[-_SIZES:]:
            if amount > 0:
                yield ((at, amount),)
