"""Which pods count on which node, and how many of them answer a description.

A pod counts from the moment it is placed, for real or by promise, until it is evicted; one that
was terminating already when the cycle began counts on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from pumice import NodeTable, Task
from pumice_builtin_plugins.kube.label_columns import LabelColumns

Amount = Callable[[Task], int]
"""How much one pod adds to a tally."""

Change = tuple[Task, int, int]
"""A pod that is thought to have come to (1) or gone from (-1) a node: pod, row, sign."""


class Tally:
    """Amounts per node, and per domain of a label: kept up to date as pods come and go."""

    __slots__ = ("_columns", "_domains", "amount", "rows")

    def __init__(self, amount: Amount, columns: LabelColumns) -> None:
        self.amount = amount
        self.rows = np.zeros(len(columns.table), np.int64)
        self._columns = columns
        self._domains: dict[str, np.ndarray] = {}

    def domains(self, key: str) -> np.ndarray:
        """By number of the label's value: the sum over the nodes that have it. Do not change."""
        sums = self._domains.get(key)
        if sums is None:
            column = self._columns.column(key)
            sums = np.bincount(column.ids, self.rows, column.missing + 1).astype(np.int64)
            sums[column.missing] = 0
            self._domains[key] = sums
        return sums

    def near(self, key: str) -> np.ndarray:
        """Per node: the sum over all nodes with the same value of the label; 0 without."""
        sums: np.ndarray = self.domains(key)[self._columns.column(key).ids]
        return sums

    def change(self, row: int, amount: int) -> None:
        self.rows[row] += amount
        for key, sums in self._domains.items():
            column = self._columns.column(key)
            domain = column.ids[row]
            if domain != column.missing:
                sums[domain] += amount


class PodCounts:
    """The pods that count on each node of a session."""

    def __init__(self, columns: LabelColumns, *, remembers: bool = True) -> None:
        """``remembers``: tallies are kept; without, each is counted when it is asked for."""
        self.columns = columns
        self.table: NodeTable = columns.table
        self._remembers = remembers
        self._there: list[dict[str, Task]] | None = None
        """Who is on each node, where no tally tells: the table shows what is imagined, too."""
        if not remembers:
            self._there = [
                {uid: entry.task for uid, entry in held.items()} for held in self.table.held
            ]
        self._evicted: set[tuple[str, int]] = set()
        """Uid and row: an evicted pod may have been promised another place."""
        self.imagined: Sequence[Change] = ()
        """Changes that the node table shows and that have not happened."""
        self._tallies: dict[Hashable, Tally] = {}

    def pods(self, row: int) -> Iterator[Task]:
        if self._there is not None:
            yield from self._there[row].values()
            return
        for uid, held in self.table.held[row].items():
            if (uid, row) not in self._evicted:
                yield held.task

    def tally(self, key: Hashable, amount: Amount) -> Tally:
        """The tally of this name; counted when first asked for."""
        found = self._tallies.get(key)
        if found is None:
            found = Tally(amount, self.columns)
            for row, held in enumerate(self.table.held if self._there is None else self._there):
                if held:
                    found.rows[row] = sum(amount(task) for task in self.pods(row))
            if self._there is None:
                for task, row, sign in self.imagined:
                    found.rows[row] -= sign * amount(task)
            if self._remembers:
                self._tallies[key] = found
        return found

    def arrived(self, task: Task, row: int) -> None:
        """The task has been placed on the node, or its eviction taken back."""
        self._evicted.discard((task.uid, row))
        if self._there is not None:
            self._there[row][task.uid] = task
        if self._tallies:
            self._count(task, row, 1)

    def left(self, task: Task, row: int) -> None:
        """The task has been evicted, or its placement taken back."""
        if task.uid in self.table.held[row]:
            self._evicted.add((task.uid, row))
        if self._there is not None:
            self._there[row].pop(task.uid, None)
        if self._tallies:
            self._count(task, row, -1)

    def _count(self, task: Task, row: int, sign: int) -> None:
        for tally in self._tallies.values():
            amount = tally.amount(task)
            if amount:
                tally.change(row, sign * amount)
