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

    def least_and_most(self) -> tuple[int, int]:
        """The range as the nodes are now; (0, 0) where no node has the resource."""
        if not self._cursor.is_current:
            changed = self._cursor.changed()
            if changed is None or len(changed) > FEW_ROWS or not self._update(changed):
                self._measure()
        return self._range

    def _measure(self) -> None:
        self._free = self._nodes.future_idle[:, self._resource].copy()
        counted = self._free[self._has_any]
        if len(counted):
            self._range = (int(counted.min()), int(counted.max()))

    def _update(self, rows: list[int]) -> bool:
        """Take over changed rows; False: the range may have changed and must be measured."""
        least, most = self._range
        unchanged = True
        for row in rows:
            if self._has_any[row]:
                before = self._free.item(row)
                now = self._nodes.future_idle.item(row, self._resource)
                self._free[row] = now
                if now != before and not (least < before < most and least <= now <= most):
                    unchanged = False
        return unchanged
