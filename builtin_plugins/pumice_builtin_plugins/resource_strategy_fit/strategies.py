"""Which resources count for a node's score, with which weight and direction."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

TYPE = "volcano.sh/resource-strategy-scoring-type"
WEIGHT = "volcano.sh/resource-strategy-weight"
Direction = Literal["LeastAllocated", "MostAllocated"]
LEAST: Direction = "LeastAllocated"
MOST: Direction = "MostAllocated"


class Strategy(BaseModel):
    """How one resource counts for the score."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    type: Direction = LEAST
    """Whether emptier or fuller nodes score higher; an unknown value means LeastAllocated."""
    weight: int = 1

    @field_validator("type", mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        return value if value in (LEAST, MOST) else LEAST

    @field_validator("weight")
    @classmethod
    def _positive(cls, value: int) -> int:
        return value if value > 0 else 1


Strategies = Mapping[str, Strategy]
"""By name of a resource; a name that ends in ``*`` matches as a prefix."""


def check_names(strategies: Strategies) -> None:
    """:raises ValueError: a ``*`` is not at the end of a prefix."""
    for name in strategies:
        if "*" in name[:-1] or name in ("", "*"):
            raise ValueError(f"{name!r} should be a resource, or a prefix of its name and one '*'")


def strategy_of(name: str, strategies: Strategies) -> Strategy | None:
    """The strategy of a resource: by its name, else by the longest prefix."""
    if name in strategies:
        return strategies[name]
    matching = [
        known for known in strategies if known.endswith("*") and name.startswith(known[:-1])
    ]
    return strategies[max(matching, key=len)] if matching else None


class Override(BaseModel):
    """The strategy in a pod's annotations, which overrides the policy."""

    model_config = ConfigDict(frozen=True)

    type: Direction | None = None
    weights: dict[str, int] = Field(default_factory=dict)

    @classmethod
    def read(cls, annotations: Mapping[str, str]) -> Override:
        """:raises ValueError: an annotation is malformed; the message names it."""
        given = annotations.get(TYPE) or None
        if given not in (None, LEAST, MOST):
            raise ValueError(f"{TYPE}: {given!r} is neither {LEAST} nor {MOST}")
        text = annotations.get(WEIGHT) or "{}"
        try:
            weights = json.loads(text)
            valid = isinstance(weights, dict) and all(type(w) is int for w in weights.values())
        except ValueError:
            valid = False
        if not valid:
            raise ValueError(f'{WEIGHT}: {text!r} should be like {{"cpu": 1}}')
        return cls.model_validate({"type": given, "weights": weights})

    def applied(self, name: str, strategy: Strategy | None) -> Strategy | None:
        """A resource's strategy for the pod; the annotations may name further resources."""
        if strategy is None and name not in self.weights:
            return None
        general = strategy or Strategy()
        return Strategy(
            type=self.type or general.type, weight=self.weights.get(name, general.weight)
        )
