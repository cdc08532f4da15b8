"""The parameters of a request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar
from urllib.parse import parse_qsl

from pumice.errors import PumiceError

_LONGEST = 300
T = TypeVar("T", bound=str)


class BadRequestError(PumiceError):
    """A request that cannot be answered; the message names the parameter."""


class Query:
    """Parameters by name, checked when they are read."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values

    @classmethod
    def parse(cls, text: str, known: Sequence[str]) -> Query:
        """Read the part of an address after ``?``.

        :raises BadRequestError: a parameter is unknown, given twice, too long or no UTF-8.
        """
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=20, errors="strict")
        except ValueError:
            raise BadRequestError("the parameters are not UTF-8, or more than 20") from None
        values: dict[str, str] = {}
        for name, value in pairs:
            if name not in known:
                listed = f"known here: {', '.join(known)}" if known else "none is known here"
                raise BadRequestError(f"there is no parameter {name[:_LONGEST]!r}", hint=listed)
            if name in values:
                raise BadRequestError(f"the parameter {name} is given twice")
            if len(value) > _LONGEST:
                raise BadRequestError(f"{name}: longer than {_LONGEST} characters")
            values[name] = value
        return cls(values)

    def text(self, name: str) -> str:
        """A parameter as it is given; empty if it is not."""
        return self._values.get(name, "").strip()

    def choice(self, name: str, choices: Sequence[T], default: T | None = None) -> T | None:
        """One of some words; the default if it is not given."""
        given = self.text(name)
        for choice in choices:
            if choice == given:
                return choice
        if not given:
            return default
        raise BadRequestError(f"{name}: {given!r} is unknown", hint=f"one of {', '.join(choices)}")

    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """A whole number within bounds; the default if it is not given."""
        given = self.text(name)
        if not given:
            return default
        if not (given.isascii() and given.isdigit() and low <= int(given[:12]) <= high):
            raise BadRequestError(
                f"{name}: {given!r} is no whole number from {low} to {high}",
                hint=f"as in {name}={default if default is not None else low}",
            )
        return int(given[:12])

    def page(self, default: int, most: int) -> slice:
        """``offset`` and ``limit`` as a slice."""
        offset = self.number("offset", 0, 0, 10**9) or 0
        limit = self.number("limit", default, 1, most) or default
        return slice(offset, offset + limit)
