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
Released = tuple[np.ndarray, np.ndarray]
"""Rows, each once, and by row the amounts of the requested dimensions that are released there."""
_NO_ROWS = np.empty(0, np.intp)
_SIZES = 8
"""So many sizes of tasks are compared with the nodes, the largest ones."""


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
        self._tables: dict[Request, RequestTable] = {}
        """By request: how many tasks fit."""
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
            free = self.free_on(row)
            for table in self._tables.values():
                table.open(row, free)

    def may_fit(self, wanted: RequestCounts, released: Sequence[Released]) -> bool:
        """Whether the wanted tasks may fit once victims have released these amounts."""
        free_on: tuple[np.ndarray, np.ndarray] | None = None
        for request, count in wanted.items():
            table = self.table_of(request)
            if table is None or count <= table.total:
                continue
            if free_on is None:
                free_on = self._free_with(released)
            if count > table.total_with(*free_on):
                return False
        return True

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

    def may_fit_with(
        self, wanted: RequestCounts, victims: Sequence[Task], rows: np.ndarray
    ) -> bool:
        """Whether the wanted tasks and these victims, once evicted, may fit these rows together.

        The victims may be placed on any of the rows, so the filters are not asked. For any size s,
        what fits a node is worth at most floor(free / s), if a task is worth floor(amount / s).
        """
        if any(task.gpu_groups for task in victims):
            return True
        free = self._free.copy()
        amounts: list[list[int]] = []
        for task in victims:
            held, row = self.amounts_of(task), self._row_of.get(task.node)
            if row is not None:
                free[row] += held
            if not task.best_effort:
                amounts.append(held)
        for request, count in wanted.items():
            own = dict(request)
            amounts += [[own.get(dimension, 0) for dimension in self._dimensions]] * count
        needs = np.array(amounts, np.int64).reshape(-1, len(self._dimensions))
        # A task of several resources is worth the least of what it is worth by each.
        whole = [np.array(self._local(request)).T for request in wanted if request]
        if any(_is_short(needs[:, at], free[rows][:, at], sizes) for at, sizes in whole):
            return False
        return not any(
            _is_short(needs[:, [at]], free[rows][:, [at]], np.array([size]))
            for at in range(len(self._dimensions))
            for size in sorted(set(needs[:, at].tolist()))[-_SIZES:]
            if size > 0
        )

    def amounts_of(self, task: Task) -> list[int]:
        """What a task requests of the dimensions of the claimant's requests."""
        vector = task.vector
        known = self._amounts.get(id(vector))
        if known is None:
            known = self._amounts[id(vector)] = (vector, vector[self._dimensions].tolist())
        return known[1]

    def _free_with(self, released: Sequence[Released]) -> tuple[np.ndarray, np.ndarray]:
        """The rows on which something is released, and what is free there then."""
        if len(released) == 1:
            rows, amounts = released[0]
            return rows, self._free[rows] + amounts
        every = np.concatenate([rows for rows, _ in released]) if released else _NO_ROWS
        rows, position = np.unique(every, return_inverse=True)
        free = self._free[rows]
        if len(released):
            np.add.at(free, position, np.concatenate([amounts for _, amounts in released]))
        return rows, free

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
        self._fitting = fitting = np.zeros(len(free), np.int64)
        """By row; 0 where the row is closed or rejected."""
        fitting[rows] = self.counts(rows, free[rows])
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
        return self._count(free) - self._fitting.item(row)

    def total_with(self, rows: np.ndarray, free: np.ndarray) -> int:
        """The total if this were free on some of the nodes, which are open then."""
        return self.total + int(self.counts(rows, free).sum() - self._fitting[rows].sum())

    def counts(self, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
        """How many tasks fit each of these rows if it is open and this is free there."""
        counts = [free[:, position] // amount for position, amount in self._request]
        least = counts[0] if len(counts) == 1 else np.minimum.reduce(counts)
        fitting: np.ndarray = np.maximum(least, 0)
        return fitting if self._accepts is None else fitting * self._accepts[rows]

    def _count(self, free: list[int]) -> int:
        least = -1
        for position, amount in self._request:
            fitting = free[position] // amount
            if fitting <= 0:
                return 0
            if least < 0 or fitting < least:
                least = fitting
        return least


def _is_short(needs: np.ndarray, free: np.ndarray, size: np.ndarray) -> bool:
    """Whether tasks with these needs are worth more, by a size, than what is free holds."""
    wanted = (needs // size).min(axis=1).sum()
    return bool(wanted > (np.maximum(free, 0) // size).min(axis=1).sum())
