"""Try the nodes with the best scores first, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

FEW_TRIES = 4
"""So many nodes are tried one by one before the others are filtered and sorted together."""
_OUT = -np.inf


def best_rows_first(
    scores: np.ndarray,
    rows: np.ndarray | None = None,
    *,
    one_by_one: int = FEW_TRIES,
    accepts: Callable[[int], bool] | None = None,
    accepts_many: Callable[[np.ndarray], np.ndarray] | None = None,
) -> Iterator[int]:
    """Node rows by falling score; equal scores in the order of the rows.

    ``scores`` are those of ``rows`` (None: of all nodes). A row that scores NaN comes last, minus
    infinity leaves it out. Mostly one of the best nodes takes the task, so the first ``one_by_one``
    are found without sorting. ``accepts`` is asked about each of these; ``accepts_many`` is asked
    once about all the others and answers a mask.
    """
    owned = False
    for _ in range(one_by_one if len(scores) else 0):
        position = int(scores.argmax())
        score = scores[position]
        if score != score:  # argmax takes NaN for the highest
            scores, owned = _nan_last(scores), True
            position = int(scores.argmax())
            score = scores[position]
        if score == _OUT:
            return
        row = position if rows is None else int(rows[position])
        if accepts is None or accepts(row):
            yield row
        if not owned:
            scores, owned = scores.copy(), True
        scores[position] = _OUT
    if np.isnan(scores).any():
        scores = _nan_last(scores)
    left = np.flatnonzero(scores != _OUT)
    others = left if rows is None else rows[left]
    if accepts_many is not None and len(others):
        accepted = accepts_many(others)
        left, others = left[accepted], others[accepted]
    yield from others[np.argsort(-scores[left], kind="stable")].tolist()


def _nan_last(scores: np.ndarray) -> np.ndarray:
    """A copy in which NaN is the lowest finite number."""
    return np.where(np.isnan(scores), np.finfo(np.float64).min, scores)
