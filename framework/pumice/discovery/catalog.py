"""The catalog: what is installed under which name, loaded on demand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import Distribution, EntryPoint
from types import MappingProxyType
from typing import Any

from pumice import deprecated
from pumice._nearest import nearest
from pumice.discovery import _scan
from pumice.discovery._check import Contract
from pumice.discovery._import_hint import import_hint
from pumice.discovery._scan import GROUPS, Kind
from pumice.discovery._source import Source
from pumice.discovery._specs import check_specs, name_conflicts
from pumice.errors import LoadError
from pumice.hookspecs import POINTS, ExtensionPoint, read_points
from pumice.shortcuts import Shortcut, correction, declared

KINDS: tuple[Kind, ...] = tuple(GROUPS)
_FRAMEWORK = "pumice-framework"
OURS = ("pumice", _FRAMEWORK, "pumice-builtin-plugins", "pumice-builtin-actions")
"""Pumice's own distributions, which share one version."""
SHORTCUT_KINDS: tuple[Kind, ...] = ("plugin", "action")


@dataclass(frozen=True, slots=True)
class Installed:
    """An entry point that has not been imported."""

    kind: Kind
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Loaded:
    """A class that has been imported and checked."""

    name: str
    cls: type[Any]
    source: Source
    points: tuple[str, ...]
    """The extension points that it implements, or declares if it is a class of hookspecs."""
    warnings: tuple[str, ...] = ()
    deprecations: tuple[str, ...] = ()
    """Deprecated names that it uses."""

    @property
    def summary(self) -> str:
        """First line of the class's own docstring."""
        return (vars(self.cls).get("__doc__") or "").strip().partition("\n")[0]


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One installed name, with either its class or the error why it cannot be loaded."""

    installed: Installed
    loaded: Loaded | None
    error: LoadError | None


class Catalog:
    """Finds parts by name; a module is imported only when its name is asked for.

    All hookspecs are imported together, since they say what plugins may implement. A catalog
    belongs to one scheduler or command and scans once, on first use.
    """

    def __init__(self) -> None:
        self._local: dict[tuple[Kind, str], type[Any]] = {}
        self._by_kind: dict[Kind, list[Installed]] = {}
        self._loaded: dict[tuple[Kind, str], Loaded | LoadError] = {}
        self._allowed: frozenset[str] | None = None
        self._versions: dict[Distribution, tuple[str, str]] = {}

    def allow(self, distributions: Iterable[str] | None) -> None:
        """Import only from these distributions and the framework; None: from all.

        Classes that were registered locally are always allowed.
        """
        allowed = None if distributions is None else frozenset(map(_normal, distributions))
        if allowed != self._allowed:
            self._allowed = allowed
            self._forget_loaded()

    @cached_property
    def _entry_points(self) -> dict[Kind, tuple[EntryPoint, ...]]:
        return _scan.scan()

    @cached_property
    def _contract(self) -> Contract:
        """The framework's extension points and those of all hookspecs that can be loaded."""
        specs = [entry.loaded for entry in self.listing("hookspecs") if entry.loaded is not None]
        return _contract(tuple((loaded.cls, loaded.source) for loaded in specs))

    @property
    def points(self) -> Mapping[str, ExtensionPoint]:
        """Every extension point by name: the framework's, then those of distributions."""
        return self._contract.points

    @property
    def shortcuts(self) -> dict[str, Shortcut]:
        """The framework's shortcuts and those of everything installed, which is imported."""
        listed = [line.loaded for kind in SHORTCUT_KINDS for line in self.listing(kind)]
        return declared(loaded.cls for loaded in listed if loaded is not None)

    def shortcut_correction(self, name: str) -> str | None:
        """What a user should have written instead of the name of a shortcut; None: it is right.

        A shortcut of a plugin or action that the policy does not list is right, too: the same
        ``--plain`` may be given for several policies.
        """
        if correction(name, declared(())) is None:
            return None
        return correction(name, self.shortcuts)

    def register_local(self, kind: Kind, name: str, cls: type[Any]) -> None:
        """Register a class without an entry point; it shadows an installed one of that name."""
        self._local[kind, name] = cls
        self._by_kind.pop(kind, None)
        self._loaded.pop((kind, name), None)
        if kind == "hookspecs":
            self._forget_loaded()

    def _forget_loaded(self) -> None:
        self._loaded.clear()
        self.__dict__.pop("_contract", None)

    def installed(self, kind: Kind) -> list[Installed]:
        """Everything of this kind, by name; a name of two distributions is listed twice."""
        if kind not in self._by_kind:
            local = [
                Installed(kind, name, Source("", "", f"{cls.__module__}:{cls.__qualname__}"))
                for (local_kind, name), cls in self._local.items()
                if local_kind == kind
            ]
            shadowed = {part.name for part in local}
            others = [
                Installed(kind, entry_point.name, self._source(entry_point))
                for entry_point in self._entry_points[kind]
                if entry_point.name not in shadowed
            ]
            self._by_kind[kind] = sorted(
                [*local, *others], key=lambda part: (part.name, part.source.label)
            )
        return list(self._by_kind[kind])

    def _source(self, entry_point: EntryPoint) -> Source:
        dist = entry_point.dist
        if dist is None:
            return Source("unknown distribution", "", entry_point.value)
        if dist not in self._versions:
            # Read once for all of its entry points: each reading parses the whole metadata.
            self._versions[dist] = dist.name, dist.version
        return Source(*self._versions[dist], entry_point.value)

    def names(self, kind: Kind) -> list[str]:
        return list(dict.fromkeys(part.name for part in self.installed(kind)))

    def nearest(self, kind: Kind, name: str) -> str | None:
        """The installed name that is most similar."""
        return nearest(name, self.names(kind))

    def label(self, kind: Kind, name: str) -> str:
        """Distribution and version of a name, without importing it."""
        return next((p.source.label for p in self.installed(kind) if p.name == name), "")

    def third_party(self, kind: Kind) -> list[str]:
        """The names that are not of Pumice's own distributions."""
        others = (part for part in self.installed(kind) if part.source.distribution not in OURS)
        return list(dict.fromkeys(part.name for part in others))

    def load(self, kind: Kind, name: str) -> Loaded:
        """Import and check one class.

        :raises LoadError: it is not installed or cannot be used.
        """
        if (kind, name) not in self._loaded:
            try:
                self._loaded[kind, name] = self._load(kind, name)
            except LoadError as error:
                self._loaded[kind, name] = error
        loaded = self._loaded[kind, name]
        if isinstance(loaded, LoadError):
            raise loaded.with_traceback(None)
        return loaded

    def listing(self, kind: Kind) -> list[CatalogEntry]:
        """Import everything of this kind; what cannot be loaded has its error."""
        entries = []
        for part in self.installed(kind):
            try:
                entries.append(CatalogEntry(part, self.load(kind, part.name), None))
            except LoadError as error:
                entries.append(CatalogEntry(part, None, error))
        return entries

    def problems(self) -> list[LoadError]:
        """The errors of everything that is installed, of all kinds."""
        errors = [entry.error for kind in KINDS for entry in self.listing(kind)]
        return list({str(error): error for error in errors if error}.values())

    def _load(self, kind: Kind, name: str) -> Loaded:
        part = self._only(kind, name)
        what = f"{kind} {name!r} ({part.source.label}, {part.source.entry_point})"
        cls = self._local.get((kind, name)) or self._import(part, what)
        if kind == "hookspecs":
            return self._load_specs(part, cls, what)
        deprecations: tuple[str, ...] = ()
        if kind == "plugin" and isinstance(cls, type):
            cls, deprecations = deprecated.modernise(cls)
        result = self._contract.check(kind, name, cls)
        if result.problems:
            raise LoadError(f"{what}: {'; '.join(result.problems)}", reason=result.reason)
        return Loaded(name, cls, part.source, result.points, tuple(result.warnings), deprecations)

    def _load_specs(self, part: Installed, cls: type[Any], what: str) -> Loaded:
        """Check a class of hookspecs; a point that two classes declare is an error for both."""
        problems = check_specs(cls)
        points = [] if problems else _points(cls, part.source)
        problems = problems or name_conflicts(points, self._points_of_others(part))
        if problems:
            raise LoadError(f"{what}: {'; '.join(problems)}")
        return Loaded(part.name, cls, part.source, tuple(point.name for point in points))

    def _points_of_others(self, own: Installed) -> list[ExtensionPoint]:
        points = []
        for part in self.installed("hookspecs"):
            if part.name == own.name:
                continue
            try:
                cls = self._local.get((part.kind, part.name)) or self._import(part, "")
            except LoadError:
                continue
            if not check_specs(cls):
                points += _points(cls, part.source)
        return points

    def _only(self, kind: Kind, name: str) -> Installed:
        candidates = [part for part in self.installed(kind) if part.name == name]
        if not candidates:
            near = self.nearest(kind, name)
            hint = f"'pumice {kind}s' lists the installed ones"
            if kind not in ("plugin", "action"):
                hint = f"installed: {', '.join(self.names(kind))}"
            if near:
                hint = f"did you mean {near!r} ({self.label(kind, near)})?"
            raise LoadError(f"no {kind} named {name!r} is installed", hint=hint)
        if len(candidates) > 1:
            sources = [part.source for part in candidates]
            owners = " and ".join(f"{s.label} ({s.entry_point})" for s in sources)
            raise LoadError(
                f"{kind} {name!r} is installed by {owners}",
                hint=f"uninstall one: pip uninstall {sources[-1].distribution}",
                reason="claimed twice",
            )
        return candidates[0]

    def _import(self, part: Installed, what: str) -> type[Any]:
        name = part.source.distribution
        if self._allowed is not None and _normal(name) not in self._allowed | {_FRAMEWORK}:
            raise LoadError(
                f"{part.kind} {part.name!r} is of distribution {name!r}, which is not allowed",
                hint=f"add {name!r} to allowed_distributions in [scheduler], or do without it",
                reason="not allowed",
            )
        try:
            cls: type[Any] = _scan.load(part.kind, part.name, self._entry_points[part.kind])
        except (Exception, SystemExit) as error:
            raise LoadError(
                f"{what}: cannot be imported: {type(error).__name__}: {error}",
                hint=import_hint(part.kind, part.source, error),
            ) from error
        return cls


def _normal(distribution: str) -> str:
    """The name of a distribution as package indexes compare it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


@cache
def _contract(specs: tuple[tuple[type[Any], Source], ...]) -> Contract:
    """One for all catalogs with these hookspecs, so that a class is checked against them once."""
    points = dict(POINTS)
    for cls, source in specs:
        points |= {point.name: point for point in _points(cls, source)}
    return Contract(MappingProxyType(points), [cls for cls, _ in specs])


def _points(cls: type[Any], source: Source) -> list[ExtensionPoint]:
    return read_points(cls, source.distribution, source.version)
