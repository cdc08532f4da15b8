"""The part of the Common Expression Language that device selectors use."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, total_ordering
from typing import Any

from pumice.kube import milli, pattern
from pumice_builtin_plugins.kube.dra.cel_arithmetic import (
    ARITHMETIC,
    CelError,
    LimitError,
    bounded,
    negated,
    quoted,
)

Expression = Callable[[Mapping[str, Any]], Any]

_TOKEN = re.compile(
    r"""\s*(?:(?P<number>\d+\.\d+|\d+)u?
    |(?P<string>r?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>&&|\|\||[=!<>]=|[-+*/%!<>?:.,()\[\]]))""",
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(.)")
_PLAIN = {"n": "\n", "t": "\t", "r": "\r"}
_LITERALS = {"true": True, "false": False, "null": None}
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "in": lambda item, container: item in container,
}
_TOO_DEEP = "the expression is nested too deeply"
_LONGEST_EXPRESSION = 10 * 1024
"""Characters; the API server accepts no longer selector."""


@total_ordering
class Version:
    """A semantic version; a pre-release comes before its release."""

    def __init__(self, text: str) -> None:
        core, _, suffix = text.partition("+")[0].partition("-")
        try:
            self._key = (*map(int, core.split(".")), not suffix, suffix)
        except ValueError:
            raise CelError(f"{text!r} is not a version") from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Version) and self._key == other._key

    def __lt__(self, other: Version) -> bool:
        return self._key < other._key

    def __hash__(self) -> int:
        return hash(self._key)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "quantity": milli,
    "semver": Version,
    "size": len,
    "string": str,
    "int": int,
}
_METHODS: dict[str, Callable[..., Any]] = {
    "compareTo": lambda a, b: int(a > b) - int(a < b),
    "isGreaterThan": operator.gt,
    "isLessThan": operator.lt,
    "startsWith": lambda text, part: text.startswith(part),
    "endsWith": lambda text, part: text.endswith(part),
    "contains": lambda text, part: part in text,
    "matches": lambda text, expression: pattern(expression).search(text) is not None,
    "lowerAscii": lambda text: text.lower(),
    "size": len,
}


class _Parser:
    """Recursive descent; every rule returns a function of the variables."""

    def __init__(self, text: str) -> None:
        if len(text) > _LONGEST_EXPRESSION:
            raise CelError(f"longer than {_LONGEST_EXPRESSION} characters")
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text.rstrip()):
            match = _TOKEN.match(text, position)
            if match is None or match.lastgroup is None:
                raise CelError(f"cannot read {text[position:]!r}")
            self._tokens.append((match.lastgroup, match[match.lastgroup]))
            position = match.end()
        self._tokens.append(("end", ""))

    def parse(self) -> Expression:
        result = self._choice()
        if self._tokens[0][0] != "end":
            raise CelError(f"cannot read {self._tokens[0][1]!r}")
        return result

    def _take(self, *texts: str) -> str | None:
        kind, text = self._tokens[0]
        if kind != "string" and text in texts:
            self._tokens.pop(0)
            return text
        return None

    def _expect(self, text: str) -> None:
        if self._take(text) is None:
            raise CelError(f"{text!r} expected, not {self._tokens[0][1]!r}")

    def _choice(self) -> Expression:
        condition = self._logical("||")
        if self._take("?") is None:
            return condition
        yes = self._choice()
        self._expect(":")
        no = self._choice()
        return lambda env: yes(env) if condition(env) else no(env)

    def _logical(self, sign: str) -> Expression:
        """As CEL does, one side may decide alone even where the other fails."""
        decisive = sign == "||"
        left = self._logical("&&") if decisive else self._relation()
        while self._take(sign):
            right = self._logical("&&") if decisive else self._relation()
            left = _either(left, right, decisive)
        return left

    def _relation(self) -> Expression:
        left = self._sum()
        while (sign := self._take(*_RELATIONS)) is not None:
            left = _binary(_RELATIONS[sign], left, self._sum())
        return left

    def _sum(self) -> Expression:
        left = self._product()
        while (sign := self._take("+", "-")) is not None:
            left = _binary(ARITHMETIC[sign], left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._unary()
        while (sign := self._take("*", "/", "%")) is not None:
            left = _binary(ARITHMETIC[sign], left, self._unary())
        return left

    def _unary(self) -> Expression:
        if self._take("!"):
            inner = self._unary()
            return lambda env: not inner(env)
        if self._take("-"):
            inner = self._unary()
            return _call(negated, [inner])
        return self._postfix()

    def _postfix(self) -> Expression:
        value = self._primary()
        while (sign := self._take(".", "[")) is not None:
            if sign == "[":
                key = self._choice()
                self._expect("]")
                value = _binary(_lookup, value, key)
                continue
            name = self._tokens.pop(0)[1]
            value = self._member(value, name)
        return value

    def _member(self, value: Expression, name: str) -> Expression:
        if self._take("(") is None:
            return lambda env: _lookup(value(env), name)
        if name not in _METHODS:
            raise CelError(f"unknown function {name!r}")
        return _call(_METHODS[name], [value, *self._list(")")])

    def _primary(self) -> Expression:
        kind, text = self._tokens.pop(0)
        if kind == "number":
            number = _number(text)
            return lambda env: number
        if kind == "string":
            plain = text[2:-1] if text.startswith("r") else _unescaped(text[1:-1])
            return lambda env: plain
        if text == "(":
            inner = self._choice()
            self._expect(")")
            return inner
        if text == "[":
            items = self._list("]")
            return lambda env: [item(env) for item in items]
        if kind != "name":
            raise CelError(f"cannot read {text!r}" if text else "the expression ends too early")
        if text in _LITERALS:
            return lambda env: _LITERALS[text]
        if self._take("("):
            arguments = self._list(")")
            if text == "has" and len(arguments) == 1:
                return _exists(arguments[0])
            if text not in _FUNCTIONS:
                raise CelError(f"unknown function {text!r}")
            return _call(_FUNCTIONS[text], arguments)
        return lambda env: _lookup(env, text)

    def _list(self, end: str) -> list[Expression]:
        items: list[Expression] = []
        while self._take(end) is None:
            if items:
                self._expect(",")
            items.append(self._choice())
        return items


def _number(text: str) -> float:
    try:
        return float(text) if "." in text else bounded(int(text))
    except (ValueError, LimitError):
        raise CelError(f"the integer {quoted(text)} has more than 64 bits") from None


def _lookup(value: Any, key: Any) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        raise CelError(f"no such key: {key}") from None


def _binary(function: Callable[[Any, Any], Any], left: Expression, right: Expression) -> Expression:
    return _call(function, [left, right])


def _call(function: Callable[..., Any], arguments: list[Expression]) -> Expression:
    def call(env: Mapping[str, Any]) -> Any:
        values = [argument(env) for argument in arguments]
        try:
            return function(*values)
        except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise CelError(str(error)) from None

    return call


def _either(left: Expression, right: Expression, decisive: bool) -> Expression:
    def decide(env: Mapping[str, Any]) -> bool:
        try:
            if bool(left(env)) == decisive:
                return decisive
        except CelError:
            if bool(right(env)) == decisive:
                return decisive
            raise
        return bool(right(env))

    return decide


def _exists(value: Expression) -> Expression:
    def exists(env: Mapping[str, Any]) -> bool:
        try:
            value(env)
        except CelError:
            return False
        return True

    return exists


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda match: _PLAIN.get(match[1], match[1]), text)


@lru_cache(maxsize=1024)
def compiled(text: str) -> Expression:
    """The expression as a function of its variables.

    :raises CelError: it cannot be parsed; the function itself raises it where it fails.
    """
    try:
        expression = _Parser(text).parse()
    except RecursionError:
        raise CelError(_TOO_DEEP) from None

    def evaluate(env: Mapping[str, Any]) -> Any:
        try:
            return expression(env)
        except LimitError as error:
            raise CelError(f"{quoted(text)} builds {error}") from None
        except RecursionError:
            raise CelError(f"{quoted(text)}: {_TOO_DEEP}") from None

    return evaluate
