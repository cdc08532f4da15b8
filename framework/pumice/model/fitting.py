"""Does a request fit into what is free: the one place where the two are compared.

A request is compared in the dimensions that it asks for, and in those that are ``always``
compared: a node that is over-committed in one of these takes nothing more. Volcano always compares
cpu and memory (reference 1.3), KAI none.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

CPU_AND_MEMORY = (0, 1)
"""The first two dimensions of every cluster."""


class RequestFit:
    """One request, ready to be compared with one node or with many."""

    __slots__ = ("_pairs",)

    def __init__(self, request: np.ndarray, always: Collection[int] = CPU_AND_MEMORY) -> None:
        amounts: list[int] = request.tolist()
        self._pairs = [
            (dimension, amount)
            for dimension, amount in enumerate(amounts)
            if amount > 0 or dimension in always
        ]

    @property
    def dimensions(self) -> list[int]:
        """The dimensions that are compared."""
        return [dimension for dimension, _ in self._pairs]

    def fits(self, free: Sequence[int]) -> bool:
        """Whether the request fits into one node's free amounts, given as plain integers."""
        for dimension, amount in self._pairs:  # noqa: SIM110 - a loop costs half of all()
            if amount > free[dimension]:
                return False
        return True

    def missing(self, free: Sequence[int]) -> int:
        """1 + the first dimension of which one node has too little; 0: it fits."""
        for dimension, amount in self._pairs:
            if amount > free[dimension]:
                return dimension + 1
        return 0

    def mask(self, free: np.ndarray) -> np.ndarray:
        """The same as :meth:`fits` for one row of free amounts per node."""
        if not self._pairs:
            return np.ones(len(free), bool)
        # Few dimensions are compared: column by column is quicker than all(axis=1).
        (dimension, amount), *others = self._pairs
        fits: np.ndarray = free[:, dimension] >= amount
        for dimension, amount in others:
            fits &= free[:, dimension] >= amount
        return fits

    def missing_dimensions(self, free: np.ndarray) -> np.ndarray:
        """The same as :meth:`missing` for one row of free amounts per node."""
        missing = np.zeros(len(free), np.int8)
        for dimension, amount in reversed(self._pairs):
            missing[free[:, dimension] < amount] = dimension + 1
        return missing
