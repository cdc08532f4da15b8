"""Old names: each works, with a DeprecationWarning, for one more minor version.

Here are the extension points, their arguments, options and shortcuts. Modules, names and
attributes are in :mod:`pumice.deprecated.moves`; :mod:`pumice.deprecated.finder` makes them
importable.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple, TypeVar

_T = TypeVar("_T", bound=type)
_IMPL_MARK = "pumice_impl"  # set by pluggy's marker; ``import pumice`` must not import pluggy


def next_minor(version: str) -> str:
    """The minor version after this one: the first without what this one renamed."""
    major, minor = version.split(".")[:2]
    return f"{major}.{int(minor) + 1}"


class Renamed(NamedTuple):
    """An extension point, an argument of one, an option or a shortcut with a new name."""

    old: str
    new: str
    since: str
    """The version that renamed it, as in ``0.2``."""
    point: str = ""
    """For an argument: its extension point, under the name that it has now."""
    kind: str = "hook"
    """What it is, for people: ``hook``, ``option`` or ``shortcut``."""

    @property
    def gone_in(self) -> str:
        """The first version that does not know the old name any more."""
        return next_minor(self.since)

    def __str__(self) -> str:
        what = (
            f"argument {self.old!r} of {self.point!r}"
            if self.point
            else f"{self.kind} {self.old!r}"
        )
        return (
            f"{what} is called {self.new!r} since {self.since}; {self.gone_in} drops the old name"
        )


RENAMED: tuple[Renamed, ...] = (
    Renamed("scenario", "plan", since="0.2", point="reclaim_scenario_validator"),
    Renamed("scenario", "plan", since="0.2", point="preempt_scenario_validator"),
)
"""In the order of the renames. An entry whose ``gone_in`` is reached must be removed."""

OPTIONS: tuple[Renamed, ...] = (
    Renamed("upstreamGhosts", "upstreamStaleReleases", since="0.2", kind="option"),
)
"""Options of plugins and actions: the new name is accepted wherever the old one was."""

SHORTCUTS: tuple[Renamed, ...] = tuple(
    Renamed(old, new, since="0.2", kind="shortcut")
    for new, names in {
        "node_cache": "answers journal scalar fixed spans reasons patience",
        "order_keys": "keys ranked",
        "solver_search": "refusal slots prefix walk",
        "incremental": "difference",
        "gc_pause": "collection",
        "victims": "promising foresight roles",
        "queue_books": "shares amounts",
        "pod_counts": "tallies",
    }.items()
    for old in names.split()
)
"""Names of shortcuts: several old ones became one."""


def renamed_point(name: object) -> Renamed | None:
    """The rename of an extension point that once had this name."""
    return next((r for r in RENAMED if not r.point and r.old == name), None)


def current(name: str) -> str:
    """The name that an extension point has now."""
    renamed = renamed_point(name)
    return renamed.new if renamed else name


def current_option(name: str, known: Collection[str]) -> tuple[str, Renamed | None]:
    """The name that an option has now, and the rename if the given name is old.

    ``known`` are the names of the options of a plugin or action.
    """
    for renamed in OPTIONS:
        if renamed.old == name and renamed.new in known and name not in known:
            return renamed.new, renamed
    return name, None


def renamed_shortcut(name: str) -> Renamed | None:
    """The rename of a shortcut that once had this name."""
    return next((renamed for renamed in SHORTCUTS if renamed.old == name), None)


def current_shortcut(name: str) -> str:
    """The name that a shortcut has now; an old name is warned about."""
    renamed = renamed_shortcut(name)
    if renamed is None:
        return name
    warn(renamed)
    return renamed.new


def warn(renamed: Renamed, stack_level: int = 2) -> None:
    """Warn at the line of the caller's caller, which uses the old name."""
    warnings.warn(str(renamed), DeprecationWarning, stacklevel=stack_level + 1)


def modernise(cls: _T) -> tuple[_T, tuple[str, ...]]:
    """A plugin class under today's names, and what is old about it; mostly the class itself.

    A class that implements a point under both names is meant for two versions: its new method is
    used, without a warning.
    """
    methods: dict[str, Callable[..., Any]] = {}
    notes: list[str] = []
    for renamed in RENAMED:
        target = renamed.point or renamed.new
        method = methods.get(target) or _implementation(cls, target)
        if not renamed.point:
            old = _implementation(cls, renamed.old)
            if old is None or method is not None:
                continue
            method = methods[target] = old
        elif method is None or renamed.old not in _arguments(method):
            continue
        else:
            methods[target] = _with_argument(method, renamed)
        notes.append(f"{renamed} ({_warn_at_definition(renamed, method)})")
    if not methods:
        return cls, ()
    names = {key: getattr(cls, key) for key in ("__module__", "__qualname__", "__doc__")}
    return type(cls)(cls.__name__, (cls,), {**names, **methods}), tuple(notes)


def _implementation(cls: type, name: str) -> Callable[..., Any] | None:
    method = getattr(cls, name, None)
    marked = hasattr(method, _IMPL_MARK) and hasattr(method, "__code__")
    return method if marked else None


def _arguments(method: Callable[..., Any]) -> tuple[str, ...]:
    code = method.__code__
    return code.co_varnames[1 : code.co_argcount]


def _with_argument(method: Callable[..., Any], renamed: Renamed) -> Callable[..., Any]:
    """The same method, taking the argument by its new name."""
    names = [renamed.new if name == renamed.old else name for name in _arguments(method)]
    given = ", ".join(["self", *names])
    adapted: Callable[..., Any] = eval(f"lambda {given}: method({given})", {"method": method})
    adapted.__dict__.update(method.__dict__)
    adapted.__name__, adapted.__qualname__ = method.__name__, method.__qualname__
    return adapted


def _warn_at_definition(renamed: Renamed, method: Callable[..., Any]) -> str:
    """Warn at the place where the method is defined, and give the place."""
    file, line = method.__code__.co_filename, method.__code__.co_firstlineno
    warnings.warn_explicit(str(renamed), DeprecationWarning, file, line)
    return f"{file}:{line}"


def old_caution(cls: type, name: str, options: Any, companions: Collection[str]) -> Iterator[str]:
    """What a plugin's method ``caution`` says, which is ``cautions`` since 0.2."""
    method = getattr(cls, "caution", None)
    if method is None:
        return
    renamed = Renamed("caution", "cautions", since="0.2", kind="method")
    _warn_at_definition(renamed, method)
    text = method(options, companions)
    if text is not None:
        yield f"{name}: {text}"
