"""The arithmetic of CEL expressions, with bounds on what it may build."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_LONGEST_VALUE = 64 * 1024
"""Characters of a string, or items of a list, that an expression builds."""
_LARGEST_INT = 1000 * 2**63
"""An integer has 64 bits; quantities are counted in thousandths."""


class CelError(Exception):
    """An expression that cannot be parsed, or that fails for this device."""


class LimitError(CelError):
    """A value that is larger than an expression may build."""


def bounded(value: Any) -> Any:
    """The value itself.

    :raises LimitError: it is too large.
    """
    if isinstance(value, int) and abs(value) > _LARGEST_INT:
        raise LimitError("an integer of more than 64 bits")
    if isinstance(value, str | list) and len(value) > _LONGEST_VALUE:
        what = "characters" if isinstance(value, str) else "items"
        raise LimitError(f"a value of {len(value)} {what}, {_LONGEST_VALUE} are allowed")
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plus(left: Any, right: Any) -> Any:
    """The sum of two numbers, or two strings or lists one after the other."""
    if type(left) is type(right) and isinstance(left, str | list):
        return bounded(left + right)
    return _calculated(operator.add, left, right)


def _calculated(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """A number made of two.

    Only numbers are accepted: Python's operators would repeat and format strings and lists, whose
    size nothing bounds beforehand.
    """
    if not (_is_number(left) and _is_number(right)):
        raise TypeError(f"no such operation on {type(left).__name__} and {type(right).__name__}")
    return bounded(function(bounded(left), bounded(right)))


def _divided(left: Any, right: Any) -> Any:
    whole = isinstance(left, int) and isinstance(right, int)
    return int(left / right) if whole else left / right


def _arithmetic(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda left, right: _calculated(function, left, right)


ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": _plus,
    "-": _arithmetic(operator.sub),
    "*": _arithmetic(operator.mul),
    "/": _arithmetic(_divided),
    "%": _arithmetic(operator.mod),
}


def negated(value: Any) -> Any:
    """The number with the other sign."""
    return _calculated(operator.sub, 0, value)


def quoted(text: str) -> str:
    """The text for a message, in about 80 characters."""
    return repr(text if len(text) <= 80 else f"{text[:77]}...")
