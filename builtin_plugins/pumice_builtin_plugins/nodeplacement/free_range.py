"""The least and the most that nodes have free of one resource, kept while rows change."""

from __future__ import annotations

import numpy as np

from pumice import NodeTable

_FEW = 12


class FreeRange:
    """Among the nodes that have any of the resource; what is promised counts as free or taken."""

    def __init__(self, nodes: NodeTable, resource: int) -> None:
        self._nodes = nodes
        self._resource = resource
        self._counts = nodes.allocatable[:, resource] > 0
        self._free: np.ndarray = np.zeros(0, np.int64)
        self._span = (0, 0)
        self._version = -1

    def least_and_most(self) -> tuple[int, int]:
        """As the nodes are now; nothing at all where no node has the resource."""
        version = self._nodes.version
        if version != self._version:
            changed = None if self._version < 0 else self._nodes.changed_since(self._version)
            if changed is None or len(changed) > _FEW or not self._hold(changed):
                self._measure()
            self._version = version
        return self._span

    def _measure(self) -> None:
        self._free = self._nodes.future_idle[:, self._resource].copy()
        counted = self._free[self._counts]
        if len(counted):
            self._span = (int(counted.min()), int(counted.max()))

    def _hold(self, rows: list[int]) -> bool:
        """Take over changed rows; tells whether the ends are sure to be what they were."""
        least, most = self._span
        holds = True
        for row in rows:
            if self._counts[row]:
                before = self._free.item(row)
                now = self._nodes.future_idle.item(row, self._resource)
                self._free[row] = now
                if now != before and not (least < before < most and least <= now <= most):
                    holds = False
        return holds
