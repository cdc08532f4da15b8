"""Sums of many vectors at once, by the group that each belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def group_sums(
    groups: Sequence[int] | np.ndarray, vectors: Sequence[np.ndarray] | np.ndarray, count: int
) -> np.ndarray | None:
    """A row for each of ``count`` groups: the sum of its vectors; None: there are no vectors.

    Integers stay exact, which they would not as the weights of ``np.bincount``.
    """
    if not len(groups):
        return None
    numbers, rows = np.asarray(groups), np.asarray(vectors)
    order = numbers.argsort(kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    sums = np.zeros((count, rows.shape[1]), rows.dtype)
    sums[ordered[starts]] = np.add.reduceat(rows[order], starts, axis=0)
    return sums
