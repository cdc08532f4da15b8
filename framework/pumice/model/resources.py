"""Amounts of resources and the comparisons that Volcano's decisions rest on."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator, Mapping
from typing import Any

from pumice.model.quantity import PODS, amount, is_counted, shown

MIN_RESOURCE = 0.1
"""Amounts that differ by less are equal, in every dimension."""

Verdict = tuple[bool, list[str]]
"""Whether a comparison holds, and the names of the resources that make it so."""

_INF = math.inf


class Missing(enum.Enum):
    """What a scalar counts as that one side of a comparison does not name."""

    ZERO = "zero"
    INFINITY = "infinity"


class Resource:
    """CPU (milli), memory (bytes) and named scalars (milli-units; ``pods`` in whole units).

    A value may be ``math.inf``: unlimited. Comparisons come in Volcano's many flavours, traps
    included; ``requested`` arguments narrow them to the dimensions that are asked for, without
    ``pods``. A resource without scalars stands for one that has no scalar map upstream.
    """

    __slots__ = ("cpu", "memory", "scalars")
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, cpu: float = 0, memory: float = 0, scalars: Mapping[str, float] | None = None
    ) -> None:
        self.cpu = cpu
        """Milli-CPUs."""
        self.memory = memory
        """Bytes."""
        self.scalars: dict[str, float] = dict(scalars) if scalars else {}
        """All other resources by name: milli-units, ``pods`` in whole units."""

    @classmethod
    def from_list(cls, mapping: Mapping[str, Any]) -> Resource:
        """Read a Kubernetes resource list; names that are no scalar resource are dropped.

        :raises ValueError: a quantity is malformed or negative; the message names the resource.
        """
        result = cls()
        for name, value in mapping.items():
            number = amount(name, value)
            if is_counted(name):
                result.set(name, number)
        return result

    def clone(self) -> Resource:
        """A copy."""
        return Resource(self.cpu, self.memory, self.scalars)

    def get(self, name: str) -> float:
        """The amount of one resource, 0 when it is missing."""
        if name == "cpu":
            return self.cpu
        return self.memory if name == "memory" else self.scalars.get(name, 0)

    def set(self, name: str, value: float) -> None:
        """Set the amount of one resource."""
        if name == "cpu":
            self.cpu = value
        elif name == "memory":
            self.memory = value
        else:
            self.scalars[name] = value

    def items(self) -> Iterator[tuple[str, float]]:
        """Name and amount of every resource, cpu and memory first."""
        yield "cpu", self.cpu
        yield "memory", self.memory
        yield from self.scalars.items()

    def names(self) -> list[str]:
        """The resources of which there is something, ``pods`` included."""
        return [name for name, value in self.items() if value >= MIN_RESOURCE]

    def is_empty(self) -> bool:
        """Whether nothing is left but pods."""
        if self.cpu >= MIN_RESOURCE or self.memory >= MIN_RESOURCE:
            return False
        return all(value < MIN_RESOURCE for name, value in self.scalars.items() if name != PODS)

    # Arithmetic

    def add(self, other: Resource) -> Resource:
        """Add in place."""
        self.cpu += other.cpu
        self.memory += other.memory
        mine = self.scalars
        for name, value in other.scalars.items():
            mine[name] = mine.get(name, 0) + value
        return self

    def sub(self, other: Resource) -> Resource:
        """Subtract in place, below zero where need be; without scalars none are made up."""
        self.cpu = _minus(self.cpu, other.cpu)
        self.memory = _minus(self.memory, other.memory)
        mine = self.scalars
        if mine:
            for name, value in other.scalars.items():
                mine[name] = _minus(mine.get(name, 0), value)
        return self

    def plus(self, other: Resource) -> Resource:
        """The sum, as a new resource."""
        return self.clone().add(other)

    def minus(self, other: Resource) -> Resource:
        """The difference, as a new resource."""
        return self.clone().sub(other)

    def scaled(self, k: float) -> Resource:
        """Every dimension times ``k``."""
        scalars = {name: _times(value, k) for name, value in self.scalars.items()}
        return Resource(_times(self.cpu, k), _times(self.memory, k), scalars)

    def set_max(self, other: Resource) -> Resource:
        """Raise every dimension to the other's, in place."""
        self.cpu = max(self.cpu, other.cpu)
        self.memory = max(self.memory, other.memory)
        mine = self.scalars
        for name, value in other.scalars.items():
            if name not in mine or value > mine[name]:
                mine[name] = value
        return self

    def min_dimension(self, other: Resource, missing: Missing = Missing.ZERO) -> Resource:
        """Lower every dimension that this one names to the other's, in place."""
        self.cpu = min(self.cpu, other.cpu)
        self.memory = min(self.memory, other.memory)
        for name, value in self.scalars.items():
            if name in other.scalars:
                self.scalars[name] = min(value, other.scalars[name])
            elif missing is Missing.ZERO:
                self.scalars[name] = 0
        return self

    def diff(self, other: Resource, missing: Missing = Missing.ZERO) -> tuple[Resource, Resource]:
        """What this has more and what it has less; -1 marks a scalar that counts as infinite."""
        more, less = Resource(), Resource()
        for name in ("cpu", "memory"):
            mine, theirs = self.get(name), other.get(name)
            if mine > theirs:
                more.set(name, mine - theirs)
            elif theirs > mine:
                less.set(name, theirs - mine)
        infinite = missing is Missing.INFINITY
        for name in {**self.scalars, **other.scalars}:
            if infinite and name not in self.scalars:
                more.scalars[name] = -1
            elif infinite and name not in other.scalars:
                less.scalars[name] = -1
            else:
                mine, theirs = self.scalars.get(name, 0), other.scalars.get(name, 0)
                if mine > theirs:
                    more.scalars[name] = mine - theirs
                else:
                    less.scalars[name] = theirs - mine if theirs > mine else 0
        return more, less

    def exceeded_part(self, other: Resource) -> Resource:
        """What this has more than the other."""
        mine, theirs = self.scalars, other.scalars
        more = Resource(
            self.cpu - other.cpu if self.cpu > other.cpu else 0,
            self.memory - other.memory if self.memory > other.memory else 0,
        )
        for name, value in mine.items():
            less = theirs.get(name, 0)
            if value > less:
                more.scalars[name] = value - less
        for name, value in theirs.items():
            if value < 0 and name not in mine:
                more.scalars[name] = -value
        return more

    def fit_delta(self, request: Resource) -> Resource:
        """What would be left after ``request``; a dimension below zero is insufficient."""
        left = self.clone()
        for name, value in request.items():
            if value > 0:
                left.set(name, _minus(left.get(name), value + MIN_RESOURCE))
        return left

    # Comparison. `x - y >= MIN_RESOURCE` is false for two infinities, which are equal.

    def less_equal(self, other: Resource, missing: Missing = Missing.ZERO) -> bool:
        """Every dimension at most the other's.

        With ``INFINITY`` a scalar that only the other names is infinite here: false.
        """
        if self.cpu - other.cpu >= MIN_RESOURCE or self.memory - other.memory >= MIN_RESOURCE:
            return False
        if missing is Missing.INFINITY and not other.scalars.keys() <= self.scalars.keys():
            return False
        return not self._scalars_above(other, missing)

    def failing(self, other: Resource, missing: Missing = Missing.ZERO) -> list[str]:
        """The dimensions above the other's; scalars that only the other names do not count."""
        plain = [n for n in ("cpu", "memory") if self.get(n) - other.get(n) >= MIN_RESOURCE]
        return plain + self._scalars_above(other, missing)

    def _scalars_above(self, other: Resource, missing: Missing) -> list[str]:
        absent = 0 if missing is Missing.ZERO else _INF
        theirs = other.scalars
        return [
            n for n, value in self.scalars.items() if value - theirs.get(n, absent) >= MIN_RESOURCE
        ]

    def less(self, other: Resource, missing: Missing = Missing.ZERO) -> bool:
        """Every dimension below the other's, without tolerance; missing as in less_equal."""
        infinite = missing is Missing.INFINITY
        if infinite and not other.scalars.keys() <= self.scalars.keys():
            return False
        return all(
            value < other.get(name) or (infinite and other._lacks(name))
            for name, value in self.items()
        )

    def less_partly(self, other: Resource, missing: Missing = Missing.ZERO) -> bool:
        """Some dimension below the other's.

        A scalar that only one side names counts, whatever its value: the other's with ``ZERO``,
        this one's with ``INFINITY``.
        """
        return self._one_sided(other, missing) or any(
            value < other.get(name) for name, value in self.items()
        )

    def less_equal_partly(self, other: Resource, missing: Missing = Missing.ZERO) -> bool:
        """Some dimension at most the other's; one-sided scalars as in less_partly."""
        return self._one_sided(other, missing) or any(
            not value - other.get(name) >= MIN_RESOURCE for name, value in self.items()
        )

    def _one_sided(self, other: Resource, missing: Missing) -> bool:
        if missing is Missing.ZERO:
            return not other.scalars.keys() <= self.scalars.keys()
        return not self.scalars.keys() <= other.scalars.keys()

    def _lacks(self, name: str) -> bool:
        return name not in ("cpu", "memory") and name not in self.scalars

    def less_equal_in(self, other: Resource | None, requested: Resource | None) -> Verdict:
        """Whether no requested dimension is above the other's, without tolerance, and which are."""
        if other is None:
            return False, self.names()
        if requested is None:
            failing = self.failing(other)
        else:
            failing = self.greater_partly_in(other, requested)
            if not self.scalars:
                failing = [name for name in failing if name in ("cpu", "memory")]
        return not failing, failing

    def less_equal_partly_in(self, other: Resource, requested: Resource | None) -> Verdict:
        """Whether some requested dimension is at most the other's, and which are."""
        names = [n for n in _asked(requested) if not self.get(n) - other.get(n) >= MIN_RESOURCE]
        return bool(names), names

    def less_equal_partly_in_nonzero(self, other: Resource, requested: Resource | None) -> Verdict:
        """As less_equal_partly_in, without the dimensions that both sides have nothing of."""
        _, names = self.less_equal_partly_in(other, requested)
        names = [n for n in names if self.get(n) >= MIN_RESOURCE or other.get(n) >= MIN_RESOURCE]
        return bool(names), names

    def greater_partly(self, other: Resource, missing: Missing = Missing.ZERO) -> Verdict:
        """Whether some dimension is above the other's, and which are."""
        names = self.failing(other, missing)
        return bool(names), names

    def greater_partly_in(self, other: Resource | None, requested: Resource | None) -> list[str]:
        """The requested dimensions above the other's, without tolerance."""
        bound = other or Resource()
        return [n for n in _asked(requested) if self.get(n) > bound.get(n)]

    def greater_partly_relevant(
        self, other: Resource | None, requested: Resource | None
    ) -> list[str]:
        """As greater_partly_in, where the other has cpu or memory or names the scalar at all."""
        bound = other or Resource()
        return [
            n
            for n in self.greater_partly_in(bound, requested)
            if n in bound.scalars or bound.get(n) >= MIN_RESOURCE
        ]

    def equal(self, other: Resource) -> bool:
        """Every dimension named here equal within the tolerance."""
        return all(
            value == other.get(name) or abs(value - other.get(name)) < MIN_RESOURCE
            for name, value in self.items()
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Resource):
            return NotImplemented
        return (
            self.cpu == other.cpu and self.memory == other.memory and self.scalars == other.scalars
        )

    def __repr__(self) -> str:
        scalars = f", {self.scalars!r}" if self.scalars else ""
        return f"Resource({self.cpu!r}, {self.memory!r}{scalars})"

    def describe(self, *, pods: bool = False) -> str:
        """For people: ``4 cpu, 8Gi memory, 2 nvidia.com/gpu``; the pod count only on demand."""
        parts = [
            f"{shown(name, value)} {name}"
            for name, value in self.items()
            if abs(value) >= MIN_RESOURCE and (pods or name != PODS)
        ]
        return ", ".join(parts) or "nothing"


def share(l: float, r: float) -> float:  # noqa: E741
    """``l`` of ``r``: nothing of nothing is 0, something of nothing 1."""
    if l == r:
        return 1.0 if r else 0.0
    return l / r if r else 1.0


def component_max(l: Resource, r: Resource) -> Resource:  # noqa: E741
    """The larger of each dimension; scalars that are not positive are dropped."""
    largest = l.clone().set_max(r)
    largest.scalars = {name: value for name, value in largest.scalars.items() if value > 0}
    return largest


def component_min(l: Resource, r: Resource) -> Resource:  # noqa: E741
    """The smaller of each dimension; the scalars of ``l``, and none when ``r`` has none."""
    scalars = {n: min(v, r.scalars.get(n, 0)) for n, v in l.scalars.items()} if r.scalars else {}
    return Resource(min(l.cpu, r.cpu), min(l.memory, r.memory), scalars)


def _asked(requested: Resource | None) -> list[str]:
    if requested is None:
        return []
    return [name for name, value in requested.items() if value > 0 and name != PODS]


def _minus(value: float, other: float) -> float:
    return value if value == _INF else value - other


def _times(value: float, k: float) -> float:
    return value * k if k else 0
