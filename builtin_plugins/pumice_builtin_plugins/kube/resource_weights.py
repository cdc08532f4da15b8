"""Weights of resources in binpack scores, from options as Volcano writes them."""

from __future__ import annotations

from collections.abc import Mapping


def resource_weights(
    cpu: int, memory: int, further: str, given: Mapping[str, int]
) -> dict[str, int]:
    """By resource; ``further``: names, comma separated, whose weights are ``given`` or 1.

    Volcano takes a negative weight for 1.
    """
    weights = {"cpu": cpu, "memory": memory}
    for name in filter(None, (part.strip() for part in further.split(","))):
        weights[name] = given.get(name, 1)
    return {name: 1 if weight < 0 else weight for name, weight in weights.items()}
