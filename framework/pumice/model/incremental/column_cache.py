"""Columns that are cached from cycle to cycle and recomputed only where something changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from pumice.errors import InvariantError

_T = TypeVar("_T")


class _CachedColumn:
    __slots__ = ("column", "read", "shown", "stale")

    def __init__(self, column: np.ndarray) -> None:
        self.column = column
        self.shown = column.view()
        self.shown.flags.writeable = False
        self.stale: set[int] = set()
        """Positions whose values must be recomputed."""
        self.read = False
        """Whether it was read in this cycle."""


class ColumnCache:
    """One value, or one row of values, for each of some objects that are known by position.

    A column is computed when it is first read. One that was not read in a whole cycle is dropped.
    """

    def __init__(self) -> None:
        self._columns: dict[Hashable, _CachedColumn] = {}
        self.verify = False
        """Recompute every column all the same, and raise if it differs from the cached one."""

    def ask(
        self,
        key: Hashable,
        objects: Sequence[_T],
        value: Callable[[_T], Any],
        dtype: Any,
        width: int = 0,
    ) -> np.ndarray:
        """The column of this key; ``width`` numbers for each object, 0: a single one."""
        cached = self._columns.get(key)
        if cached is None or 2 * len(cached.stale) > len(objects):
            cached = self._columns[key] = _CachedColumn(make_column(objects, value, dtype, width))
        else:
            for position in cached.stale:
                cached.column[position] = value(objects[position])
            cached.stale.clear()
            if self.verify:
                _compare(key, cached.column, make_column(objects, value, dtype, width))
        cached.read = True
        return cached.shown

    def next_cycle(self, changed: Collection[int]) -> None:
        """Begin a new cycle: the objects at these positions have changed."""
        self._columns = {key: cached for key, cached in self._columns.items() if cached.read}
        for cached in self._columns.values():
            cached.read = False
            cached.stale.update(changed)

    def move(self, source: list[int]) -> None:
        """Objects came, went or moved; ``source`` has the old position per position, -1: new."""
        added = {position for position, old in enumerate(source) if old < 0}
        old_positions = np.maximum(np.array(source, np.intp), 0)
        for key, cached in list(self._columns.items()):
            if not len(cached.column):
                del self._columns[key]
                continue
            moved = self._columns[key] = _CachedColumn(cached.column[old_positions])
            moved.read = cached.read
            moved.stale = set(added)
            if cached.stale:
                stale = cached.stale
                moved.stale.update(row for row, old in enumerate(source) if old in stale)


def make_column(
    objects: Sequence[_T], value: Callable[[_T], Any], dtype: Any, width: int = 0
) -> np.ndarray:
    shape = (len(objects), width) if width else (len(objects),)
    return np.array([value(one) for one in objects], dtype).reshape(shape)


def _compare(key: Hashable, cached: np.ndarray, computed: np.ndarray) -> None:
    if not np.array_equal(cached, computed, equal_nan=computed.dtype.kind == "f"):
        where = np.flatnonzero((cached != computed).reshape(len(computed), -1).any(axis=1)).tolist()
        raise InvariantError(f"column {key!r} is out of date at {where[:5]}")
