"""Checks that a class satisfies the contract of its kind; each problem says how to fix it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args
from weakref import WeakKeyDictionary

import pluggy

from pumice import deprecated
from pumice._nearest import did_you_mean
from pumice.action import Action
from pumice.discovery._scan import GROUPS, Kind
from pumice.hookspecs import PROJECT, SPECS, ExtensionPoint
from pumice.plugin import API_VERSION, SCOPE_ATTRIBUTE, OptionsModel, Plugin, Scope

BASES: dict[Kind, type] = {"plugin": Plugin, "action": Action}
_ORDER = ("tryfirst", "trylast", "wrapper", "hookwrapper")
_KINDS = inspect.Parameter
_ARTICLE = {"plugin": "a plugin", "action": "an action"}


Points = Mapping[str, ExtensionPoint]


@dataclass(slots=True)
class CheckResult:
    """The result of checking one class."""

    points: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reason: str = "broken"
    """The kind of problem: see :class:`LoadError`."""


class Contract:
    """The extension points that a plugin may implement, and pluggy's view of them."""

    def __init__(self, points: Points, specs: Sequence[type] = ()) -> None:
        self.points = points
        self.manager = pluggy.PluginManager(PROJECT)
        for spec in (*SPECS, *specs):
            self.manager.add_hookspecs(spec)
        self._checked: WeakKeyDictionary[type, dict[tuple[Kind, str], CheckResult]] = (
            WeakKeyDictionary()
        )

    def check(self, kind: Kind, name: str, thing: Any) -> CheckResult:
        """Check the object that an entry point refers to; a class is looked at once."""
        if not isinstance(thing, type):
            return _check(kind, name, thing, self)
        results = self._checked.setdefault(thing, {})
        if (kind, name) not in results:
            results[kind, name] = _check(kind, name, thing, self)
        return results[kind, name]


def _check(kind: Kind, name: str, thing: Any, contract: Contract) -> CheckResult:
    result = CheckResult()
    wrong_type = _wrong_type(kind, thing)
    if wrong_type:
        result.problems.append(wrong_type)
        return result
    if kind not in ("plugin", "action"):
        return result
    result.problems += _version_problems(thing)
    if result.problems:
        result.reason = "API version"
    if not (isinstance(thing.Options, type) and issubclass(thing.Options, OptionsModel)):
        base = BASES[kind].__name__
        result.problems.append(f"its Options is not a subclass of {base}.Options")
    if kind == "action" and thing.execute is Action.execute:
        result.problems.append("it has no method execute(self, session)")
    if kind == "action":
        result.problems += [
            f"it needs the extension point {point!r}, which does not exist"
            f"{did_you_mean(point, contract.points)}"
            for point in thing.needs
            if deprecated.current(point) not in contract.points
        ]
    if kind == "plugin":
        _check_hooks(name, thing, contract, result)
    return result


def _wrong_type(kind: Kind, thing: Any) -> str:
    base = BASES.get(kind)
    if not isinstance(thing, type):
        if base is not None and isinstance(thing, base):
            cls = type(thing).__name__
            return f"is an instance of {cls}, not the class; name {cls} itself in the entry point"
        wanted = f"a subclass of pumice.{base.__name__}" if base else "a class"
        return f"is a {type(thing).__name__}, not {wanted}"
    if base is None or issubclass(thing, base):
        return ""
    for other, other_base in BASES.items():
        if issubclass(thing, other_base):
            return f"is {_ARTICLE[other]}, not {_ARTICLE[kind]}; its group is {GROUPS[other]}"
    return f"is not a subclass of pumice.{base.__name__}"


def _version_problems(cls: Any) -> list[str]:
    declared = cls.api_version
    if declared is None:
        return []
    ours = tuple(int(part) for part in API_VERSION.split("."))
    try:
        major, minor = (int(part) for part in str(declared).split("."))
    except ValueError:
        return [f"its api_version is {declared!r}; write it like {API_VERSION!r}"]
    if major == ours[0] and minor <= ours[1]:
        return []
    newer = (major, minor) > ours
    fix = "upgrade pumice-framework" if newer else "install a newer release of it"
    return [f"it was written for API {declared}, this is API {API_VERSION}; {fix}"]


def _check_hooks(name: str, cls: type, contract: Contract, result: CheckResult) -> None:
    points, manager = contract.points, contract.manager
    implemented = set()
    for attribute in dir(cls):
        if deprecated.renamed_point(attribute) and attribute not in points:
            continue
        marks = manager.parse_hookimpl_opts(cls, attribute)
        if marks is None:
            if attribute in points and callable(getattr(cls, attribute)):
                result.warnings.append(
                    f"method {attribute} is named like an extension point but is not decorated "
                    f"with @hookimpl, so it is never called ({_place(cls, attribute)})"
                )
            continue
        problems = _hook_problems(cls, attribute, dict(marks), points)
        result.problems += [f"{text} ({_place(cls, attribute)})" for text in problems]
        implemented.add(attribute)
    result.points = tuple(point for point in points if point in implemented)
    if not result.problems:
        _check_with_pluggy(name, cls, manager, result)


def _check_with_pluggy(
    name: str, cls: type, manager: pluggy.PluginManager, result: CheckResult
) -> None:
    """Register the class with pluggy, whose own validation counts, too."""
    try:
        manager.register(cls, name)
    except pluggy.PluginValidationError as error:
        result.problems.append(" ".join(str(error).split()))
    else:
        manager.unregister(cls, name)


def _hook_problems(cls: type, hook: str, marks: dict[str, Any], points: Points) -> list[str]:
    function = inspect.getattr_static(cls, hook)
    if hook not in points:
        if marks.get("optionalhook"):
            return []
        return [f"hook {hook!r} does not exist{did_you_mean(hook, points)}"]
    if not inspect.isfunction(function):
        return [f"hook {hook!r} must be a plain method, not a {type(function).__name__}"]
    problems = []
    ordering = [mark for mark in _ORDER if marks.get(mark)]
    if ordering:
        problems.append(
            f"hook {hook!r} is marked {', '.join(ordering)}; only the policy's tiers order plugins"
        )
    if marks.get("specname"):
        problems.append(
            f"hook {hook!r} is marked specname; name the method like its extension point"
        )
    scope = getattr(function, SCOPE_ATTRIBUTE, "cluster")
    if not callable(scope) and scope not in get_args(Scope):
        problems.append(
            f"hook {hook!r} has the unknown scope {scope!r}; known: {', '.join(get_args(Scope))}"
        )
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        problems.append(f"hook {hook!r} must return its answer; it cannot be async or a generator")
    return problems + _argument_problems(hook, function, points[hook].args)


def _argument_problems(hook: str, function: Any, known: Sequence[str]) -> list[str]:
    # Dispatch calls this function itself, not what a decorator wrapped.
    parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())
    if not parameters or parameters[0].name != "self":
        return [f"hook {hook!r} must take self as its first argument"]
    problems = []
    for parameter in parameters[1:]:
        if parameter.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD):
            problems.append(f"hook {hook!r} takes {parameter}; name the arguments that it uses")
        elif parameter.name not in known:
            hint = did_you_mean(parameter.name, known) or (
                f"; known: {', '.join(known)}" if known else "; it has none"
            )
            problems.append(f"hook {hook!r} has no argument {parameter.name!r}{hint}")
        elif parameter.kind is _KINDS.KEYWORD_ONLY:
            problems.append(
                f"hook {hook!r} takes {parameter.name!r} by keyword only; arguments are passed "
                "by position: remove the *"
            )
    return problems


def _place(cls: type, attribute: str) -> str:
    code = getattr(getattr(cls, attribute), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else cls.__qualname__
