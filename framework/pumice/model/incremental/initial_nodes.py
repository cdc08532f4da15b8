"""The node table as it was when a cycle began, so that the next can start from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np

from pumice.model.nodes import NodeTable, NodeTask
from pumice.model.nodes.columns import moved_rows
from pumice.model.task import Task

_COLUMNS = ("idle", "used", "releasing", "pipelined", "future_idle", "pod_count")


class InitialNodes:
    """What every node held before the cycle began."""

    def __init__(self, table: NodeTable) -> None:
        self._table = table
        self._columns = [(name, getattr(table, name).copy()) for name in _COLUMNS]
        self._tasks_on = [tuple(held) for held in table.held]
        self._sharing = set(table.sharing)

    def rearrange(self, source: np.ndarray) -> None:
        """The table was rearranged; ``source`` has the old row of every new one, -1: new."""
        rows = source.tolist()
        self._columns = [(name, moved_rows(column, source)) for name, column in self._columns]
        self._tasks_on = [self._tasks_on[old] if old >= 0 else () for old in rows]
        self._sharing = {row for row, old in enumerate(rows) if old in self._sharing}

    def restore(self, tasks: Mapping[str, Task], except_rows: Collection[int]) -> None:
        """Undo what the cycle did to the table, except on rows that are refilled next.

        The tasks must have been restored before.
        """
        table = self._table
        for name, column in self._columns:
            np.copyto(getattr(table, name), column)
        for row in table.touched().difference(except_rows):
            present = self.on(row, tasks)
            if row in self._sharing:
                table.refill(row, present)
            else:
                table.forget_shares(row)
                table.held[row] = {task.uid: NodeTask(task, task.status) for task in present}

    def on(self, row: int, tasks: Mapping[str, Task]) -> list[Task]:
        """The tasks that were on a node and still exist."""
        return [tasks[uid] for uid in self._tasks_on[row] if uid in tasks]

    def refill(self, row: int, tasks: Iterable[Task]) -> None:
        """Set the tasks that are on a node when the cycle begins, in this order."""
        table = self._table
        table.refill(row, tasks)
        self._tasks_on[row] = tuple(table.held[row])
        for name, column in self._columns:
            column[row] = getattr(table, name)[row]
        if row in table.sharing:
            self._sharing.add(row)
        else:
            self._sharing.discard(row)
