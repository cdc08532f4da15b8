"""Columns that are kept from cycle to cycle and made anew only where something has changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np

from pumice.errors import InvariantError

_T = TypeVar("_T")


class _CachedColumn:
    __slots__ = ("asked", "column", "shown", "stale")

    def __init__(self, column: np.ndarray) -> None:
        self.column = column
        self.shown = column.view()
        self.shown.flags.writeable = False
        self.stale: set[int] = set()
        """Positions whose values are to be made anew."""
        self.asked = False
        """Whether somebody asked for it in this cycle."""


class ColumnCache:
    """One value, or one row of values, for each of some objects that are known by position.

    A column is made when it is first asked for. One that nobody asked for in a whole cycle is
    dropped.
    """

    def __init__(self) -> None:
        self._kept: dict[Hashable, _CachedColumn] = {}
        self.verify = False
        """Make every column anew all the same, and raise if it is not what was kept."""

    def ask(
        self,
        key: Hashable,
        objects: Sequence[_T],
        value: Callable[[_T], Any],
        dtype: Any,
        width: int = 0,
    ) -> np.ndarray:
        """The column of this name; ``width`` numbers for each object, 0: one, not in a row."""
        kept = self._kept.get(key)
        if kept is None or 2 * len(kept.stale) > len(objects):
            kept = self._kept[key] = _CachedColumn(make_column(objects, value, dtype, width))
        else:
            for position in kept.stale:
                kept.column[position] = value(objects[position])
            kept.stale.clear()
            if self.verify:
                _compare(key, kept.column, make_column(objects, value, dtype, width))
        kept.asked = True
        return kept.shown

    def next_cycle(self, changed: Collection[int]) -> None:
        """A new cycle begins, and the objects at these positions are not what they were."""
        self._kept = {key: kept for key, kept in self._kept.items() if kept.asked}
        for kept in self._kept.values():
            kept.asked = False
            kept.stale.update(changed)

    def move(self, source: list[int]) -> None:
        """Objects came, went or changed places; per position where its object was, -1: nowhere."""
        new = {position for position, old in enumerate(source) if old < 0}
        places = np.maximum(np.array(source, np.intp), 0)
        for key, kept in list(self._kept.items()):
            if not len(kept.column):
                del self._kept[key]
                continue
            moved = self._kept[key] = _CachedColumn(kept.column[places])
            moved.asked = kept.asked
            moved.stale = new | {
                position for position, old in enumerate(source) if old in kept.stale
            }


def make_column(
    objects: Sequence[_T], value: Callable[[_T], Any], dtype: Any, width: int = 0
) -> np.ndarray:
    shape = (len(objects), width) if width else (len(objects),)
    return np.array([value(one) for one in objects], dtype).reshape(shape)


def _compare(key: Hashable, kept: np.ndarray, made: np.ndarray) -> None:
    if not np.array_equal(kept, made, equal_nan=made.dtype.kind == "f"):
        where = np.flatnonzero((kept != made).reshape(len(made), -1).any(axis=1)).tolist()
        raise InvariantError(f"column {key!r} is out of date at {where[:5]}")
