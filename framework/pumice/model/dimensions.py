"""The resources of a cluster in a fixed order, so that quantities become integer vectors."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pumice.model.resources import Resource

_FIRST = ("cpu", "memory", "pods")


class Dimensions:
    """Names and positions: cpu (milli), memory (bytes), pods, then the rest by name (milli)."""

    __slots__ = ("names", "position")

    def __init__(self, scalars: Iterable[str] = ()) -> None:
        self.names: tuple[str, ...] = (*_FIRST, *sorted(set(scalars) - set(_FIRST)))
        """The resource names; the position is the column of the vectors."""
        self.position = {name: i for i, name in enumerate(self.names)}
        """Resource name → position in a vector."""

    def __len__(self) -> int:
        return len(self.names)

    def vector(self, resource: Resource) -> np.ndarray:
        """A resource as integers in the order of ``names``; unknown scalars are left out."""
        values = np.zeros(len(self.names), np.int64)
        values[0] = resource.cpu
        values[1] = resource.memory
        for name, amount in resource.scalars.items():
            position = self.position.get(name)
            if position is not None:
                values[position] = amount
        return values

    def resource(self, vector: np.ndarray) -> Resource:
        """The quantities of a vector as a :class:`Resource`; zero scalars are left out."""
        cpu, memory, *scalars = vector.tolist()
        return Resource(
            cpu, memory, {n: v for n, v in zip(self.names[2:], scalars, strict=True) if v}
        )
