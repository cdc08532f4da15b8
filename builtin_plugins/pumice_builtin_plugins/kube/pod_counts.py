"""How many pods of a kind each node and each topology domain has.

A pod counts from the moment it is placed, bound or pipelined, until it is evicted; one that was
terminating already when the cycle began still counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence

import numpy as np

from pumice import NodeTable, Task
from pumice_builtin_plugins.kube.label_columns import LabelColumns

PodWeight = Callable[[Task], int]
"""How much one pod adds to a count; 0: it is not of the kind that is counted."""

PodChange = tuple[Task, int, int]
"""A pod added to (1) or removed from (-1) a node in a simulation: pod, row, sign."""


class PodCount:
    """One kind of pods, counted by node and by topology domain; updated as pods come and go."""

    __slots__ = ("_by_domain", "_columns", "by_node", "weight")

    def __init__(self, weight: PodWeight, columns: LabelColumns) -> None:
        self.weight = weight
        self.by_node = np.zeros(len(columns.table), np.int64)
        self._columns = columns
        self._by_domain: dict[str, np.ndarray] = {}

    def by_domain(self, key: str) -> np.ndarray:
        """The sums over the nodes with the same value of a label, by number of the value.

        Not to be written to.
        """
        sums = self._by_domain.get(key)
        if sums is None:
            column = self._columns.column(key)
            sums = np.bincount(column.ids, self.by_node, column.missing + 1).astype(np.int64)
            sums[column.missing] = 0
            self._by_domain[key] = sums
        return sums

    def in_domain(self, key: str) -> np.ndarray:
        """Per node: the sum over its topology domain; 0 for a node without the label."""
        sums: np.ndarray = self.by_domain(key)[self._columns.column(key).ids]
        return sums

    def add(self, row: int, amount: int) -> None:
        self.by_node[row] += amount
        for key, sums in self._by_domain.items():
            column = self._columns.column(key)
            domain = column.ids[row]
            if domain != column.missing:
                sums[domain] += amount


class PodCounts:
    """The pods on each node of a session, and counts of them by kind."""

    def __init__(self, columns: LabelColumns, *, cached: bool = True) -> None:
        """``cached``: counts are updated by events, else computed when asked for."""
        self.columns = columns
        self.table: NodeTable = columns.table
        self._cached = cached
        self._pods_by_row: list[dict[str, Task]] | None = None
        """The pods of each node without a cache: the node table shows simulated changes, too."""
        if not cached:
            self._pods_by_row = [
                {uid: entry.task for uid, entry in held.items()} for held in self.table.held
            ]
        self._evicted: set[tuple[str, int]] = set()
        """Uid and row: an evicted pod may be pipelined to another node."""
        self.simulated: Sequence[PodChange] = ()
        """Changes that the node table shows and that are to be left out of new counts."""
        self._counts: dict[Hashable, PodCount] = {}

    def pods(self, row: int) -> Iterator[Task]:
        """The pods that count on a node."""
        if self._pods_by_row is not None:
            yield from self._pods_by_row[row].values()
            return
        for uid, entry in self.table.held[row].items():
            if (uid, row) not in self._evicted:
                yield entry.task

    def count(self, key: Hashable, weight: PodWeight) -> PodCount:
        """The count under this key, made on first use."""
        count = self._counts.get(key)
        if count is None:
            count = self._make(weight)
            if self._cached:
                self._counts[key] = count
        return count

    def _make(self, weight: PodWeight) -> PodCount:
        count = PodCount(weight, self.columns)
        in_table = self._pods_by_row is None
        for row, held in enumerate(self.table.held if in_table else self._pods_by_row or ()):
            if held:
                count.by_node[row] = sum(weight(task) for task in self.pods(row))
        if in_table:
            for task, row, sign in self.simulated:
                count.by_node[row] -= sign * weight(task)
        return count

    def add_pod(self, task: Task, row: int) -> None:
        """The task has been placed on the node, or its eviction undone."""
        self._evicted.discard((task.uid, row))
        if self._pods_by_row is not None:
            self._pods_by_row[row][task.uid] = task
        if self._counts:
            self._update(task, row, 1)

    def remove_pod(self, task: Task, row: int) -> None:
        """The task has been evicted, or its placement undone."""
        if task.uid in self.table.held[row]:
            self._evicted.add((task.uid, row))
        if self._pods_by_row is not None:
            self._pods_by_row[row].pop(task.uid, None)
        if self._counts:
            self._update(task, row, -1)

    def _update(self, task: Task, row: int, sign: int) -> None:
        for count in self._counts.values():
            amount = count.weight(task)
            if amount:
                count.add(row, sign * amount)
