"""The least and the most that nodes have free of one resource."""

from __future__ import annotations

import numpy as np

from pumice import FEW_ROWS, NodeTable, RowCursor


class FreeRange:
    """Minimum and maximum of future idle among the nodes that have any of the resource."""

    def __init__(self, nodes: NodeTable, resource: int) -> None:
        self._nodes = nodes
        self._cursor = RowCursor(nodes)
        self._resource = resource
        self._has_any = nodes.allocatable[:, resource] > 0
        self._free: np.ndarray = np.zeros(0, np.int64)
        self._range = (0, 0)
        self._at_most = 0
        """How many nodes have the most: many, as long as most nodes are empty."""

    def least_and_most(self) -> tuple[int, int]:
        """The range as the nodes are now; (0, 0) where no node has the resource."""
        if self._cursor.version != self._nodes.version:
            changed = self._cursor.changed()
            if changed is None or len(changed) > FEW_ROWS or not self._update(changed):
                self._measure()
        return self._range

    def _measure(self) -> None:
        self._free = self._nodes.future_idle[:, self._resource].copy()
        counted = self._free[self._has_any]
        if len(counted):
            most = int(counted.max())
            self._range = (int(counted.min()), most)
            self._at_most = int(np.count_nonzero(counted == most))

    def _update(self, rows: list[int]) -> bool:
        """Take over changed rows; False: the range may have changed and must be measured."""
        least, most = self._range
        for row in rows:
            before = self._free.item(row)
            now = self._nodes.future_idle.item(row, self._resource)
            if now == before or not self._has_any[row]:
                continue
            if now > most or before == least < now:
                return False
            self._free[row] = now
            self._at_most += (now == most) - (before == most)
            if not self._at_most:
                return False
            if now < least:
                least = now
        self._range = least, most
        return True
