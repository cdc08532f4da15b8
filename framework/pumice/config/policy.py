"""A checked policy: the actions in order, the tiers of plugins, their options."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pumice.action import Action
from pumice.config.settings import EvictionSettings, SchedulerSettings
from pumice.discovery import Source
from pumice.errors import PolicyError
from pumice.hookspecs import POINTS, ExtensionPoint
from pumice.plugin import Plugin
from pumice.shortcuts import Shortcut, current, declared, is_used


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """A plugin in a tier."""

    name: str
    """The name under which the policy lists it."""
    cls: type[Plugin]
    """Its class."""
    options: Any
    """Its options, an instance of the class's ``Options``."""
    source: Source
    """The distribution, or the place in the code, that it comes from."""
    points: tuple[str, ...] = ()
    """The extension points that the class implements."""
    enable: frozenset[str] | None = None
    """The only gated points that it may answer; None: all. Forms are named by their base."""
    disable: frozenset[str] = frozenset()
    """Gated points that it may not answer."""
    known: Mapping[str, ExtensionPoint] = field(
        default_factory=lambda: POINTS, repr=False, compare=False
    )
    """All extension points."""

    def answers(self, point: str) -> bool:
        """Whether the policy lets it answer the point, if it implements it."""
        declared = self.known[point]
        if not declared.gated:
            return True
        if self.enable is not None and declared.base not in self.enable:
            return False
        return declared.base not in self.disable

    @property
    def guards(self) -> bool:
        """Whether it answers a point where it can refuse something."""
        return any(self.known[point].guards and self.answers(point) for point in self.points)


@dataclass(frozen=True, slots=True)
class ActionEntry:
    """An action of the policy."""

    name: str
    """The name under which the policy lists it."""
    cls: type[Action]
    """Its class."""
    options: Any
    """Its options, an instance of the class's ``Options``."""
    source: Source
    """The distribution, or the place in the code, that it comes from."""


@dataclass(frozen=True, slots=True)
class Policy:
    """What a session runs; immutable."""

    actions: tuple[ActionEntry, ...]
    """The actions in the order of a cycle."""
    tiers: tuple[tuple[PluginEntry, ...], ...]
    """The plugins, tier by tier."""
    scheduler: SchedulerSettings
    """The settings of ``[scheduler]``."""
    warnings: tuple[str, ...]
    """What the check of the policy found doubtful."""
    origin: str
    """The file or preset, for messages."""
    raw: dict[str, Any]
    """The effective configuration as plain data, in the structure of the TOML file."""
    evictions: EvictionSettings = field(default_factory=EvictionSettings.as_upstream)
    """The settings of ``[evictions]``."""
    points: Mapping[str, ExtensionPoint] = field(
        default_factory=lambda: POINTS, repr=False, compare=False
    )
    """All extension points, including those of installed distributions."""
    origins: Mapping[tuple[str, ...], str] = field(default_factory=dict, repr=False, compare=False)
    """Where things come from: ``(kind, name)`` is where an action or plugin is listed,
    ``(kind, name, option)`` and ``(section, setting)`` where a value is set."""

    def without(self, shortcuts: Sequence[str]) -> Policy:
        """The same policy without these shortcuts."""
        if not shortcuts:
            return self
        plain = current((*self.scheduler.plain, *shortcuts))
        return replace(self, scheduler=self.scheduler.model_copy(update={"plain": plain}))

    def excluding(self, plugins: Collection[str]) -> Policy:
        """The same policy without these plugins."""
        if not plugins:
            return self
        tiers = tuple(tuple(e for e in tier if e.name not in plugins) for tier in self.tiers)
        return replace(self, tiers=tiers)

    @property
    def shortcuts(self) -> dict[str, Shortcut]:
        """The shortcuts that the framework and the listed plugins and actions take, by name."""
        return declared([*(e.cls for e in self.plugins), *(e.cls for e in self.actions)])

    def uses(self, shortcut: str) -> bool:
        """Whether a shortcut is taken (see :mod:`pumice.shortcuts`)."""
        return is_used(shortcut, self.scheduler.plain)

    @property
    def plugins(self) -> tuple[PluginEntry, ...]:
        """The plugins of all tiers."""
        return tuple(entry for tier in self.tiers for entry in tier)

    def why(self, *thing: str) -> str:
        """Where an entry or a value comes from; ``default`` where it is not set.

        An option that collects others (``prefix.NAME``) comes from where these are set.
        """
        place = self.origins.get(thing)
        if place is None and thing[-1].endswith("NAME"):
            prefix = thing[-1].removesuffix("NAME")
            places = [
                place
                for given, place in self.origins.items()
                if given[:-1] == thing[:-1] and given[-1].startswith(prefix)
            ]
            place = ", ".join(dict.fromkeys(places)) or None
        return place or "default"

    def actions_before(self, entry: ActionEntry) -> tuple[ActionEntry, ...]:
        """The actions that run before one of the policy's actions."""
        return self.actions[: self._position(entry)]

    def actions_after(self, entry: ActionEntry) -> tuple[ActionEntry, ...]:
        """The actions that run after one of the policy's actions."""
        return self.actions[self._position(entry) + 1 :]

    def _position(self, entry: ActionEntry) -> int:
        return next(number for number, other in enumerate(self.actions) if other is entry)

    def tier_of(self, entry: PluginEntry) -> tuple[PluginEntry, ...]:
        """The tier of one of the policy's plugins."""
        return next(tier for tier in self.tiers if any(other is entry for other in tier))

    def provides(self, feature: str) -> bool:
        """Whether a plugin of the policy declares that it ``provides`` something."""
        return any(feature in entry.cls.provides for entry in self.plugins)

    def voters(self, point: str) -> tuple[tuple[PluginEntry, ...], ...]:
        """The plugins that answer an extension point in any of its forms, tier by tier."""
        forms = {p.name for p in self.points.values() if p.base == self.points[point].base}
        return tuple(
            tuple(e for e in tier if e.answers(point) and not forms.isdisjoint(e.points))
            for tier in self.tiers
        )


class MissingParts(PolicyError):  # noqa: N818 - a public name
    """A policy whose only problem is that parts it names are not installed."""

    def __init__(
        self, where: str, problems: list[str], *, plugins: Sequence[str], actions: Sequence[str]
    ) -> None:
        super().__init__(where, problems)
        self.plugins = tuple(dict.fromkeys(plugins))
        self.actions = tuple(dict.fromkeys(actions))
