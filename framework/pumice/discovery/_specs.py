"""Checks the extension points that a distribution declares."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from pumice.action import Action
from pumice.combine import Rule
from pumice.hookspecs import POINTS, ExtensionPoint, is_point, read_points
from pumice.plugin import Plugin

_RESERVED = frozenset({"has", "position", "voters"}) | frozenset(dir(Plugin)) | {"name", "session"}
"""Names that already have a meaning on ``session.ask`` or on a plugin."""
_KINDS = inspect.Parameter


def check_specs(thing: Any) -> list[str]:
    """The problems of a class of extension points, apart from name conflicts."""
    if not isinstance(thing, type):
        return [f"is a {type(thing).__name__}, not a class of extension points"]
    if issubclass(thing, Plugin | Action):
        return [f"is a subclass of {thing.__mro__[1].__name__}, not a class of extension points"]
    functions = {
        name: member
        for name, member in vars(thing).items()
        if is_point(member) or (inspect.isroutine(member) and not name.startswith("_"))
    }
    if not any(is_point(function) for function in functions.values()):
        return ["declares no extension point: decorate a method with @extension_point(combine=…)"]
    problems = [text for name, f in functions.items() for text in _method_problems(name, f)]
    return problems or [text for point in read_points(thing) for text in _point_problems(point)]


def name_conflicts(points: Iterable[ExtensionPoint], others: Iterable[ExtensionPoint]) -> list[str]:
    """The names that the framework or another distribution declares already."""
    owners: dict[str, list[str]] = {name: [point.source] for name, point in POINTS.items()}
    for point in others:
        owners.setdefault(point.name, []).append(point.source)
    return [
        f"extension point {point.name!r} is already declared by "
        f"{' and '.join(owners[point.name])}; give it another name"
        for point in points
        if point.name in owners
    ]


def _method_problems(name: str, function: Any) -> list[str]:
    if not is_point(function):
        return [f"method {name} has no rule: decorate it with @extension_point(combine=…)"]
    if not inspect.isfunction(function):
        return [f"extension point {name!r} must be a plain method"]
    problems = []
    if name in _RESERVED or name.startswith("_"):
        problems.append(f"extension point {name!r} has a reserved name")
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or parameters[0].name != "self":
        problems.append(f"extension point {name!r} must take self as its first argument")
    if any(p.kind is not _KINDS.POSITIONAL_OR_KEYWORD for p in parameters):
        problems.append(f"extension point {name!r} must name its arguments: no *, no **")
    return problems


def _point_problems(point: ExtensionPoint) -> list[str]:
    problems = []
    if not point.doc.strip():
        problems.append(
            f"extension point {point.name!r} has no docstring; say when it is asked, what the "
            "answer means, and what follows if no plugin answers"
        )
    if not isinstance(point.rule, Rule):
        written = getattr(point.rule, "__name__", repr(point.rule))
        fix = f"; write {written}()" if isinstance(point.rule, type) else ""
        problems.append(
            f"extension point {point.name!r} needs a rule of pumice.combine, not {written}{fix}"
        )
    if point.form_of:
        problems.append(
            f"extension point {point.name!r} is declared as a form of another; "
            "only the framework can declare forms"
        )
    return problems
