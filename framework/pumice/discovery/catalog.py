"""The catalog of one scheduler: who is installed under which name, loaded on demand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any

from pumice import deprecated
from pumice._nearest import nearest
from pumice.discovery import _scan
from pumice.discovery._check import Contract, check
from pumice.discovery._fix import import_fix
from pumice.discovery._scan import GROUPS, Kind
from pumice.discovery._source import Source
from pumice.discovery._specs import check_specs, taken
from pumice.errors import LoadError
from pumice.hookspecs import POINTS, ExtensionPoint, read_points
from pumice.shortcuts import Shortcut, correction, declared

KINDS: tuple[Kind, ...] = tuple(GROUPS)
SHORTCUT_KINDS: tuple[Kind, ...] = ("plugin", "action")


@dataclass(frozen=True, slots=True)
class Found:
    """An entry point, known without importing it."""

    kind: Kind
    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class Loaded:
    """A class that has been imported and keeps its contract."""

    name: str
    cls: type[Any]
    source: Source
    points: tuple[str, ...]
    """The extension points that it implements or, of hookspecs, declares."""
    warnings: tuple[str, ...] = ()
    deprecations: tuple[str, ...] = ()
    """Old names that it uses."""

    @property
    def summary(self) -> str:
        """First line of the class's own docstring."""
        return (vars(self.cls).get("__doc__") or "").strip().partition("\n")[0]


@dataclass(frozen=True, slots=True)
class Listed:
    """One line of a listing: what was found, and either its class or what is wrong with it."""

    found: Found
    loaded: Loaded | None
    error: LoadError | None


class Catalog:
    """Finds by name; imports a module only when its name is asked for.

    What declares extension points is imported as a whole, for it says what others may implement.
    A catalog belongs to one scheduler or command and scans once, when first asked.
    """

    def __init__(self) -> None:
        self._local: dict[tuple[Kind, str], type[Any]] = {}
        self._found: dict[Kind, list[Found]] = {}
        self._loaded: dict[tuple[Kind, str], Loaded | LoadError] = {}

    @cached_property
    def _installed(self) -> dict[Kind, tuple[EntryPoint, ...]]:
        return _scan.installed()

    @cached_property
    def _contract(self) -> Contract:
        """The framework's points and those of every installed class of them that is sound."""
        listed = [line.loaded for line in self.listing("hookspecs") if line.loaded is not None]
        points = dict(POINTS)
        for loaded in listed:
            points |= {p.name: p for p in _points(loaded.cls, loaded.source)}
        return Contract(MappingProxyType(points), [loaded.cls for loaded in listed])

    @property
    def points(self) -> Mapping[str, ExtensionPoint]:
        """Every extension point by name: the framework's, then those that are installed."""
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
        """Make a class known without an entry point; it hides an installed one of that name."""
        self._local[kind, name] = cls
        self._found.pop(kind, None)
        self._loaded.pop((kind, name), None)
        if kind == "hookspecs":
            self._loaded.clear()
            self.__dict__.pop("_contract", None)

    def found(self, kind: Kind) -> list[Found]:
        """Everything of this kind, by name. A name that two distributions claim is there twice."""
        if kind not in self._found:
            local = [
                Found(kind, name, Source("", "", f"{cls.__module__}:{cls.__qualname__}"))
                for (of, name), cls in self._local.items()
                if of == kind
            ]
            hidden = {found.name for found in local}
            others = [
                Found(kind, entry_point.name, _source(entry_point))
                for entry_point in self._installed[kind]
                if entry_point.name not in hidden
            ]
            self._found[kind] = sorted(
                [*local, *others], key=lambda found: (found.name, found.source.label)
            )
        return list(self._found[kind])

    def names(self, kind: Kind) -> list[str]:
        return list(dict.fromkeys(found.name for found in self.found(kind)))

    def nearest(self, kind: Kind, name: str) -> str | None:
        """The installed name most like this one."""
        return nearest(name, self.names(kind))

    def label(self, kind: Kind, name: str) -> str:
        """Distribution and version of a name, without importing it."""
        return next((f.source.label for f in self.found(kind) if f.name == name), "")

    def load(self, kind: Kind, name: str) -> Loaded:
        """Import and check one class. Raises LoadError when it is not there or not usable."""
        if (kind, name) not in self._loaded:
            try:
                self._loaded[kind, name] = self._load(kind, name)
            except LoadError as error:
                self._loaded[kind, name] = error
        loaded = self._loaded[kind, name]
        if isinstance(loaded, LoadError):
            raise loaded.with_traceback(None)
        return loaded

    def listing(self, kind: Kind) -> list[Listed]:
        """Import everything of this kind; what is broken does not keep the others from loading."""
        lines = []
        for found in self.found(kind):
            try:
                lines.append(Listed(found, self.load(kind, found.name), None))
            except LoadError as error:
                lines.append(Listed(found, None, error))
        return lines

    def problems(self) -> list[LoadError]:
        """What is wrong with whatever is installed, of all kinds."""
        errors = [line.error for kind in KINDS for line in self.listing(kind)]
        return list({str(error): error for error in errors if error}.values())

    def _load(self, kind: Kind, name: str) -> Loaded:
        found = self._only(kind, name)
        what = f"{kind} {name!r} ({found.source.label}, {found.source.entry_point})"
        cls = self._local.get((kind, name)) or self._import(found, what)
        if kind == "hookspecs":
            return self._load_specs(found, cls, what)
        old: tuple[str, ...] = ()
        if kind == "plugin" and isinstance(cls, type):
            cls, old = deprecated.modernise(cls)
        findings = check(kind, name, cls, self._contract)
        if findings.problems:
            raise LoadError(f"{what}: {'; '.join(findings.problems)}", reason=findings.reason)
        return Loaded(name, cls, found.source, findings.points, tuple(findings.warnings), old)

    def _load_specs(self, found: Found, cls: type[Any], what: str) -> Loaded:
        """A class of extension points; a name that two claim is refused to both."""
        problems = check_specs(cls)
        points = [] if problems else _points(cls, found.source)
        problems = problems or taken(points, self._others_points(found))
        if problems:
            raise LoadError(f"{what}: {'; '.join(problems)}")
        return Loaded(found.name, cls, found.source, tuple(point.name for point in points))

    def _others_points(self, own: Found) -> list[ExtensionPoint]:
        points = []
        for found in self.found("hookspecs"):
            if found.name == own.name:
                continue
            try:
                cls = self._local.get((found.kind, found.name)) or self._import(found, "")
            except LoadError:
                continue
            if not check_specs(cls):
                points += _points(cls, found.source)
        return points

    def _only(self, kind: Kind, name: str) -> Found:
        candidates = [found for found in self.found(kind) if found.name == name]
        if not candidates:
            near = self.nearest(kind, name)
            hint = f"'pumice {kind}s' lists what is"
            if kind in ("backend", "hookspecs"):
                hint = f"installed: {', '.join(self.names(kind))}"
            if near:
                hint = f"did you mean {near!r} ({self.label(kind, near)})?"
            raise LoadError(f"no {kind} named {name!r} is installed", hint=hint)
        if len(candidates) > 1:
            sources = [found.source for found in candidates]
            claims = " and ".join(f"{s.label} ({s.entry_point})" for s in sources)
            raise LoadError(
                f"{kind} {name!r} is claimed by {claims}",
                hint=f"uninstall one: pip uninstall {sources[-1].distribution}",
                reason="claimed twice",
            )
        return candidates[0]

    def _import(self, found: Found, what: str) -> type[Any]:
        try:
            cls: type[Any] = _scan.load(found.kind, found.name, self._installed[found.kind])
        except (Exception, SystemExit) as error:
            raise LoadError(
                f"{what}: cannot be imported: {type(error).__name__}: {error}",
                hint=import_fix(found.kind, found.source, error),
            ) from error
        return cls


def _points(cls: type[Any], source: Source) -> list[ExtensionPoint]:
    return read_points(cls, source.distribution, source.version)


def _source(entry_point: EntryPoint) -> Source:
    dist = entry_point.dist
    if dist is None:
        return Source("unknown distribution", "", entry_point.value)
    return Source(dist.name, dist.version, entry_point.value)
