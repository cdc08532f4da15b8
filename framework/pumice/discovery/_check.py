"""Whether a class keeps the contract of its kind, told in words that name the fix."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

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
class Findings:
    """What a check found out about one class."""

    points: tuple[str, ...] = ()
    problems: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reason: str = "broken"
    """What kind of fault the first problem is."""


class Contract:
    """The extension points that a plugin may implement, and pluggy's view of them."""

    def __init__(self, points: Points, specs: Sequence[type] = ()) -> None:
        self.points = points
        self.manager = pluggy.PluginManager(PROJECT)
        for spec in (*SPECS, *specs):
            self.manager.add_hookspecs(spec)


def check(kind: Kind, name: str, thing: Any, contract: Contract) -> Findings:
    """Look at what an entry point led to."""
    findings = Findings()
    misfit = _misfit(kind, thing)
    if misfit:
        findings.problems.append(misfit)
        return findings
    if kind == "backend":
        return findings
    findings.problems += _version_problems(thing)
    if findings.problems:
        findings.reason = "API version"
    if not (isinstance(thing.Options, type) and issubclass(thing.Options, OptionsModel)):
        base = BASES[kind].__name__
        findings.problems.append(f"its Options is no subclass of {base}.Options")
    if kind == "action" and thing.execute is Action.execute:
        findings.problems.append("it has no method execute(self, session)")
    if kind == "action":
        findings.problems += [
            f"it needs the extension point {point!r}, which does not exist"
            f"{did_you_mean(point, contract.points)}"
            for point in thing.needs
            if deprecated.current(point) not in contract.points
        ]
    if kind == "plugin":
        _check_hooks(name, thing, contract, findings)
    return findings


def _misfit(kind: Kind, thing: Any) -> str:
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
            return f"is no {kind} but {_ARTICLE[other]}; its group is {GROUPS[other]}"
    return f"is no subclass of pumice.{base.__name__}"


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


def _check_hooks(name: str, cls: type, contract: Contract, findings: Findings) -> None:
    points, manager = contract.points, contract.manager
    implemented = set()
    for attribute in dir(cls):
        if deprecated.renamed_point(attribute) and attribute not in points:
            continue
        marks = manager.parse_hookimpl_opts(cls, attribute)
        if marks is None:
            if attribute in points and callable(getattr(cls, attribute)):
                findings.warnings.append(
                    f"method {attribute} is named like an extension point but is not decorated "
                    f"with @hookimpl, so it is never asked ({_place(cls, attribute)})"
                )
            continue
        problems = _hook_problems(cls, attribute, dict(marks), points)
        findings.problems += [f"{text} ({_place(cls, attribute)})" for text in problems]
        implemented.add(attribute)
    findings.points = tuple(point for point in points if point in implemented)
    if not findings.problems:
        _ask_pluggy(name, cls, manager, findings)


def _ask_pluggy(name: str, cls: type, manager: pluggy.PluginManager, findings: Findings) -> None:
    """Let pluggy have the last word: what it refuses is refused, whatever was checked before."""
    try:
        manager.register(cls, name)
    except pluggy.PluginValidationError as error:
        findings.problems.append(" ".join(str(error).split()))
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
            f"hook {hook!r} is marked {', '.join(ordering)}; "
            "the order of plugins comes from the policy's tiers only"
        )
    if marks.get("specname"):
        problems.append(f"hook {hook!r} is marked specname; name the method like its point")
    scope = getattr(function, SCOPE_ATTRIBUTE, "cluster")
    if not callable(scope) and scope not in get_args(Scope):
        problems.append(
            f"hook {hook!r} has the scope {scope!r}; known: {', '.join(get_args(Scope))}"
        )
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        problems.append(f"hook {hook!r} must return its answer: no async def, no yield")
    return problems + _argument_problems(hook, function, points[hook].args)


def _argument_problems(hook: str, function: Any, known: Sequence[str]) -> list[str]:
    # Dispatch calls this very function, so what a decorator wraps does not count.
    parameters = list(inspect.signature(function, follow_wrapped=False).parameters.values())
    if not parameters or parameters[0].name != "self":
        return [f"hook {hook!r} must take self as its first argument"]
    problems = []
    for parameter in parameters[1:]:
        if parameter.kind in (_KINDS.VAR_POSITIONAL, _KINDS.VAR_KEYWORD):
            problems.append(f"hook {hook!r} takes {parameter}; name the arguments that it wants")
        elif parameter.name not in known:
            hint = did_you_mean(parameter.name, known) or (
                f"; known: {', '.join(known)}" if known else "; it has none"
            )
            problems.append(f"hook {hook!r} has no argument {parameter.name!r}{hint}")
        elif parameter.kind is _KINDS.KEYWORD_ONLY:
            problems.append(
                f"hook {hook!r} takes {parameter.name!r} by keyword only; arguments are given "
                "by position, remove the *"
            )
    return problems


def _place(cls: type, attribute: str) -> str:
    code = getattr(getattr(cls, attribute), "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code else cls.__qualname__
