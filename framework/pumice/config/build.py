"""Builds a policy from layers of configuration, or reports everything that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeVar

from pumice import deprecated
from pumice._nearest import did_you_mean
from pumice.config.layers import Layer
from pumice.config.lines import KeyPath
from pumice.config.lint import lint
from pumice.config.options import flatten, names, validate
from pumice.config.overrides import loosely
from pumice.config.policy import ActionEntry, PluginEntry, Policy
from pumice.config.problems import Problems
from pumice.config.sections import Reference, read_actions, read_tiers
from pumice.config.settings import EvictionSettings, SchedulerSettings, split_names
from pumice.discovery import Catalog, Loaded
from pumice.errors import LoadError
from pumice.plugin import OptionsModel
from pumice.shortcuts import current

KEYS = ("preset", "actions", "tiers", "plugin", "action", "scheduler", "evictions")
Part = Literal["plugin", "action"]
S = TypeVar("S", SchedulerSettings, EvictionSettings)


@dataclass(slots=True)
class _OptionValues:
    """Values of options with the places they come from; later layers win."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, tuple[Layer, KeyPath]] = field(default_factory=dict)

    def put(self, key: str, value: Any, layer: Layer, path: KeyPath) -> None:
        self.values[key] = value
        self.origins[key] = (layer, path)


class Builder:
    """Reads layers, lowest first; problems are collected and raised together."""

    def __init__(self, layers: Sequence[Layer], catalog: Catalog, origin: str) -> None:
        self.layers = layers
        self.catalog = catalog
        self.origin = origin
        self.main = next(layer for layer in reversed(layers) if not layer.override)
        self.problems = Problems(layers)
        self.warnings: list[str] = []
        self.origins: dict[tuple[str, ...], str] = {}

    def build(self, *, complete: bool = True) -> Policy:
        """Build the policy; unless ``complete``, missing keys are not reported."""
        self._check_keys()
        scheduler, scheduler_values = self._settings("scheduler", SchedulerSettings)
        self._restrict_catalog(scheduler_values)
        actions, tiers = self._references(complete)
        plugins = [reference for tier in tiers for reference in tier]
        built_plugins, plugin_values = self._parts("plugin", plugins)
        built_actions, action_values = self._parts("action", actions)
        scheduler = self._with_known_shortcuts(scheduler, scheduler_values)
        evictions, eviction_values = self._settings("evictions", EvictionSettings)
        self.problems.raise_any(self.origin)
        policy = Policy(
            actions=tuple(
                ActionEntry(name, loaded.cls, options, loaded.source)
                for name, (loaded, options) in built_actions.items()
            ),
            tiers=tuple(
                tuple(
                    self._entry(reference, *built_plugins[reference.name], evictions)
                    for reference in tier
                )
                for tier in tiers
            ),
            scheduler=scheduler,
            evictions=evictions,
            warnings=(),
            origin=self.origin,
            raw={
                "actions": [reference.name for reference in actions],
                "tiers": [{"plugins": [_plain(reference) for reference in tier]} for tier in tiers],
                "plugin": plugin_values,
                "action": action_values,
                "scheduler": scheduler_values.values,
                "evictions": eviction_values.values,
            },
            points=self.catalog.points,
            origins=self.origins,
        )
        return replace(
            policy,
            warnings=(*self.problems.warnings, *self.warnings, *lint(policy, actions, tiers)),
        )

    def _check_keys(self) -> None:
        for layer in self.layers:
            for key in layer.data:
                if key not in KEYS:
                    hint = did_you_mean(key, KEYS) or f"; known: {', '.join(KEYS)}"
                    self.problems.add(layer, (key,), f"a policy has no key {key!r}{hint}")
                elif key == "preset" and layer.override:
                    self.problems.add(layer, (key,), "the preset cannot be overridden")

    def _references(self, complete: bool) -> tuple[list[Reference], list[list[Reference]]]:
        last = {key: layer for layer in self.layers for key in layer.data}
        for key in ("actions", "tiers"):
            if key not in last and complete:
                text = f'{key!r} is missing; add it, or start from a preset = "…"'
                self.problems.add(self.main, (), text)
        return (
            read_actions(last["actions"], self.problems) if "actions" in last else [],
            read_tiers(last["tiers"], self.problems, self.catalog.points)
            if "tiers" in last
            else [],
        )

    def _parts(
        self, part: Part, references: Sequence[Reference]
    ) -> tuple[dict[str, tuple[Loaded, OptionsModel]], dict[str, dict[str, Any]]]:
        """The listed parts with their options, and the options as they were written."""
        loaded = {reference.name: self._load(part, reference) for reference in references}
        values = self._option_values(part, loaded)
        built = {}
        for reference in references:
            part_loaded = loaded[reference.name]
            if part_loaded is None:
                continue
            self.origins[part, reference.name] = reference.layer.origin(reference.path)
            aliases = {n: f.alias or n for n, f in part_loaded.cls.Options.model_fields.items()}
            for key, (layer, path) in values[reference.name].origins.items():
                self.origins[part, reference.name, aliases.get(key, key)] = layer.origin(path)
            options = self._options(part, reference, part_loaded, values[reference.name])
            if options is not None:
                built[reference.name] = (part_loaded, options)
        return built, {name: given.values for name, given in values.items() if given.values}

    def _load(self, part: Part, reference: Reference) -> Loaded | None:
        if reference.name not in self.catalog.names(part):
            self.problems.add_missing(
                part, reference.name, reference.layer, reference.path, self.catalog
            )
            return None
        try:
            return self.catalog.load(part, reference.name)
        except LoadError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self.problems.add(reference.layer, reference.path, f"{error}{hint}")
            return None

    def _option_values(
        self, part: Part, listed: Mapping[str, Loaded | None]
    ) -> dict[str, _OptionValues]:
        """The option tables of all layers, flattened and merged key by key."""
        values = {name: _OptionValues() for name in listed}
        for layer, name, table in self._tables(part):
            if layer.loose:
                name = loosely(name, [*listed, *self.catalog.names(part)])
            path: KeyPath = (part, name)
            if name not in listed:
                self._warn_unlisted(part, name, layer, path)
            elif (loaded := listed[name]) is not None:
                seen = set()
                for key, value, rest in flatten(table, loaded.cls.Options):
                    known = names(loaded.cls.Options)
                    if layer.loose:
                        key = loosely(key, known)
                    key, renamed = deprecated.current_option(key, known)
                    if renamed is not None:
                        deprecated.warn(renamed)
                        self.problems.warn(layer, (*path, *rest), str(renamed))
                    if key in seen:
                        text = f"option {key!r} of {part} {name!r} is given twice"
                        self.problems.add(layer, (*path, *rest), text)
                    seen.add(key)
                    values[name].put(key, value, layer, (*path, *rest))
        return values

    def _tables(self, part: Part) -> Iterator[tuple[Layer, str, Mapping[str, Any]]]:
        for layer in self.layers:
            tables = layer.data.get(part, {})
            if not isinstance(tables, Mapping):
                text = f"{part!r} should have a table of options for each {part}"
                self.problems.add(layer, (part,), text)
                continue
            for name, table in tables.items():
                if isinstance(table, Mapping):
                    yield layer, name, table
                else:
                    text = f"[{part}.{name}] should be a table of options, not {table!r}"
                    self.problems.add(layer, (part, name), text)

    def _warn_unlisted(self, part: Part, name: str, layer: Layer, path: KeyPath) -> None:
        if name not in self.catalog.names(part):
            self.problems.add_missing(part, name, layer, path, self.catalog)
            return
        # A preset has options for what it lists; a policy that lists less means no harm.
        if layer.is_preset:
            return
        place = "tier" if part == "plugin" else "entry of 'actions'"
        self.warnings.append(
            f"{layer.where(path)}: the options of {part} {name!r} are unused: no {place} names it"
        )

    def _options(
        self, part: Part, reference: Reference, loaded: Loaded, given: _OptionValues
    ) -> OptionsModel | None:
        what = f"{part} {reference.name!r} ({loaded.source.label})"
        options, problems = validate(loaded.cls.Options, given.values, what)
        for key, text in problems:
            self.problems.add(
                *given.origins.get(key or "", (reference.layer, reference.path)), text
            )
        return options

    def _restrict_catalog(self, given: _OptionValues) -> None:
        """Let only allowed distributions be imported, even if another setting is wrong."""
        names = split_names(given.values.get("allowed_distributions"))
        if names is not None and not isinstance(names, list | tuple):
            names = ()
        self.catalog.allow(None if names is None else [str(name) for name in names])

    def _settings(self, section: str, model: type[S]) -> tuple[S, _OptionValues]:
        """The settings of one section of all layers, and the values as they were written."""
        given = _OptionValues()
        for layer in self.layers:
            table = layer.data.get(section, {})
            if not isinstance(table, Mapping):
                self.problems.add(
                    layer, (section,), f"[{section}] should be a table, not {table!r}"
                )
                continue
            for key, value in table.items():
                given.put(key, value, layer, (section, key))
                self.origins[section, key] = layer.origin((section, key))
        settings, problems = validate(model, given.values, f"[{section}]", "setting")
        for key, text in problems:
            self.problems.add(*given.origins.get(key or "", (self.main, (section,))), text)
        return settings or model(), given

    def _with_known_shortcuts(
        self, settings: SchedulerSettings, given: _OptionValues
    ) -> SchedulerSettings:
        """The settings with the shortcuts in ``plain`` under today's names; all must be known."""
        for name in settings.plain:
            right = self.catalog.shortcut_correction(name)
            if right is not None:
                text = (
                    f"[scheduler]: setting 'plain' should name a shortcut ({right}), not {name!r}"
                )
                self.problems.add(*given.origins["plain"], text)
        return settings.model_copy(update={"plain": current(settings.plain)})

    def _entry(
        self,
        reference: Reference,
        loaded: Loaded,
        options: OptionsModel,
        evictions: EvictionSettings,
    ) -> PluginEntry:
        own = frozenset[str]() if evictions.protected else loaded.cls.beyond_upstream
        return PluginEntry(
            reference.name,
            loaded.cls,
            options,
            loaded.source,
            loaded.points,
            reference.enable,
            reference.disable | own,
            self.catalog.points,
        )


def _plain(reference: Reference) -> str | dict[str, Any]:
    entry: dict[str, Any] = {"name": reference.name}
    if reference.enable is not None:
        entry["enable"] = sorted(reference.enable)
    if reference.disable:
        entry["disable"] = sorted(reference.disable)
    return entry if len(entry) > 1 else reference.name
