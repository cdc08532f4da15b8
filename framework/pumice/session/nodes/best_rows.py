"""The node with the best score, and those after it, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

FEW_TRIES = 4
"""So many nodes are tried one by one before the others are filtered and sorted together."""
_OUT = -np.inf


class BestRow:
    """The first row with the highest score, followed while single scores change.

    Packing fills the best node and so keeps it the best: then nothing is searched.
    """

    __slots__ = ("_row", "_score", "_scores")

    def __init__(self, scores: np.ndarray) -> None:
        """``scores`` has no NaN."""
        self._scores = scores
        self._row = -1
        self._score = 0.0

    def forget(self) -> None:
        """Any score may have changed."""
        self._row = -1

    def set(self, row: int, score: float) -> None:
        """Write one score."""
        self._scores[row] = score
        best = self._row
        if best < 0:
            return
        if row == best:
            if score < self._score:
                self._row = -1
            else:
                self._score = score
        elif score > self._score or (score == self._score and row < best):
            self._row, self._score = row, score

    def find(self) -> tuple[int, float]:
        """The row and its score."""
        if self._row < 0:
            self._row = int(self._scores.argmax())
            self._score = self._scores.item(self._row)
        return self._row, self._score


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
