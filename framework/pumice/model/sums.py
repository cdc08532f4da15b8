"""Sums of many vectors at once, by the group that each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def stacked(vectors: Sequence[np.ndarray]) -> np.ndarray:
    """The vectors as rows of one array. Most requests share a vector, which is copied once."""
    distinct = {id(vector): vector for vector in vectors}
    number_of = {key: number for number, key in enumerate(distinct)}
    rows: np.ndarray = np.array(list(distinct.values()))
    return rows[[number_of[id(vector)] for vector in vectors]]


def group_sums(
    groups: Sequence[int] | np.ndarray, vectors: Sequence[np.ndarray] | np.ndarray, count: int
) -> np.ndarray | None:
    """A row for each of ``count`` groups: the sum of its vectors; None: there are no vectors.

    Integers stay exact, which they would not as the weights of ``np.bincount``.
    """
    if not len(groups):
        return None
    numbers = np.asarray(groups)
    rows = vectors if isinstance(vectors, np.ndarray) else stacked(vectors)
    order = numbers.argsort(kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sums = np.zeros((count, rows.shape[1]), rows.dtype)
    sums[ordered[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return sums
