"""Volcano's scheduler configuration as a policy that decides the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pumice._nearest import did_you_mean
from pumice.config.importers._notes import ImportNotes, Note
from pumice.config.importers._text import read_configuration
from pumice.config.importers.volcano.arguments import HIERARCHY, SHARES_AT_OPEN
from pumice.config.importers.volcano.flags import HIERARCHY_FLAG
from pumice.config.importers.volcano.parts import ENTRY_KEYS, Options, Parts
from pumice.config.lines import KeyPath
from pumice.config.settings import AS_UPSTREAM
from pumice.discovery import Catalog

ACTIONS = (
    "enqueue", "allocate", "backfill", "preempt", "reclaim", "gangpreempt", "gangreclaim",
    "shuffle",
)  # fmt: skip
PLUGINS = (
    "binpack", "capacity", "cdp", "conformance", "deviceshare", "drf", "extender", "gang",
    "network-topology-aware", "nodegroup", "nodeorder", "numa-aware", "overcommit", "pdb",
    "predicates", "priority", "proportion", "rescheduling", "resource-strategy-fit",
    "resourcequota", "sla", "task-topology", "tdm", "usage",
)  # fmt: skip
_ERROR_CACHE = "predicateErrorCacheEnable"
_FIELD_OF_ERROR_CACHE = "enablePredicateErrorCache"
"""The name in Volcano's source, which documents quote; its configuration does not read it."""
_GANG_ACTIONS = ("gangpreempt", "gangreclaim")
_KEYS = ("actions", "tiers", "configurations", "metrics")
_SECRET = "password"


def import_volcano(
    text: str, *, where: str = "the configuration", catalog: Catalog | None = None
) -> tuple[dict[str, Any], list[Note]]:
    """The policy, in the structure of the TOML file, and notes on what it does not express.

    The text may also be a ConfigMap with the configuration.

    :raises PolicyError: Volcano would reject the file, or no policy can express it.
    """
    return _Import(where, catalog).whole(read_configuration(text, where))


def translate_volcano(
    config: Mapping[str, Any], *, where: str, catalog: Catalog | None = None
) -> dict[str, Any]:
    """A policy in which some parts may have the format of Volcano's file; these are imported.

    The names are the same. What has neither format is left to the policy's own check.
    """
    return _Import(where, catalog).mixed(config)


class _Import:
    def __init__(self, where: str, catalog: Catalog | None) -> None:
        self._notes = ImportNotes(where)
        self._catalog = catalog or Catalog()
        self._parts = Parts(self._notes, self._catalog)

    def whole(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
        """Import a whole file of Volcano's."""
        self._parts.note_unknown(data, _KEYS)
        options: Options = {}
        actions = self._actions(data.get("actions"))
        tiers = list(self._tiers(data.get("tiers"), options))
        _copy_shares_at_open(options)
        given = self._configurations(data.get("configurations"), actions)
        self._metrics(data.get("metrics"))
        if not tiers:
            self._notes.problem(("tiers",), "no plugin is left, and a policy needs one; add a tier")
        self._notes.raise_any()
        _copy_upstream_checks(given, actions)
        policy: dict[str, Any] = {"actions": actions, "tiers": tiers}
        for kind, tables in (("plugin", options), ("action", given)):
            if any(tables.values()):
                policy[kind] = {name: table for name, table in tables.items() if table}
        policy["evictions"] = dict(AS_UPSTREAM)
        return policy, self._notes.notes

    def mixed(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Import the parts of a policy that have Volcano's format."""
        result = {key: value for key, value in config.items() if key != "configurations"}
        if "preset" not in config:
            result.setdefault("evictions", dict(AS_UPSTREAM))
        if isinstance(config.get("actions"), str):
            result["actions"] = self._actions(config["actions"])
        options: Options = {}
        if isinstance(config.get("tiers"), list):
            result["tiers"] = [
                self._mixed_tier(tier, ("tiers", number), options)
                for number, tier in enumerate(config["tiers"])
            ]
        given: Options = {}
        if "configurations" in config:
            listed = result.get("actions")
            names = listed if isinstance(listed, list) else []
            given = self._configurations(config["configurations"], names)
        if "preset" not in config:
            _copy_upstream_checks(given, result.get("actions"))
        for kind, tables in (("plugin", options), ("action", given)):
            ours = config.get(kind, {})
            if tables and isinstance(ours, Mapping):
                both = {name: {**table, **(ours.get(name) or {})} for name, table in tables.items()}
                result[kind] = {**ours, **both}
        if isinstance(result.get("plugin"), Mapping):
            result["plugin"] = dict(result["plugin"])
            _copy_shares_at_open(result["plugin"])
        self._notes.raise_any()
        return result

    def _actions(self, value: Any) -> list[str]:
        path: KeyPath = ("actions",)
        if not isinstance(value, str):
            wanted = "one string, like 'enqueue, allocate, backfill'"
            found = "missing; it" if value is None else ""
            end = "" if value is None else f", not {value!r}"
            self._notes.problem(path, f"{found} should be {wanted}{end}".strip())
            return []
        names: list[str] = []
        for name in (part.strip() for part in value.split(",")):
            if name in names:
                self._notes.note(
                    path, f"{name} would run twice; here it runs once, at its first place"
                )
            elif name in ACTIONS or name in self._catalog.third_party("action"):
                names.append(name)
            elif name:
                near = did_you_mean(name, [*ACTIONS, *self._catalog.third_party("action")])
                text = f"Volcano has no action {name!r}, and no other is installed under that name"
                self._notes.problem(path, f"{text}{near}")
            else:
                text = f"a name is missing in {value!r}; Volcano rejects that"
                self._notes.problem(path, text)
        return names

    def _configurations(self, value: Any, actions: list[Any]) -> Options:
        """Options of actions; of several entries for one action the first counts."""
        given: Options = {}
        for number, entry in enumerate(self._notes.tables(("configurations",), value)):
            path: KeyPath = ("configurations", number)
            name = entry.get("name")
            self._parts.note_unknown(entry, ("name", "arguments"), path)
            if name not in actions:
                text = f"the action {name!r} does not run, so its options have no effect"
                self._notes.note(path, text)
            elif name in given:
                self._notes.note(path, f"Volcano uses only the first configuration of {name}")
            else:
                given[str(name)] = self._parts.action(self._respelt(entry, path), path)
        for name in (name for name in _GANG_ACTIONS if name in actions):
            self._share_error_cache(given, name)
        return given

    def _respelt(self, entry: Mapping[str, Any], path: KeyPath) -> Mapping[str, Any]:
        """The entry with the error cache under the name that Volcano reads."""
        arguments = entry.get("arguments")
        if not isinstance(arguments, Mapping) or _FIELD_OF_ERROR_CACHE not in arguments:
            return entry
        text = f"Volcano reads only {_ERROR_CACHE}; here it is taken as that"
        self._notes.note((*path, "arguments", _FIELD_OF_ERROR_CACHE), text)
        respelt = {_ERROR_CACHE: arguments[_FIELD_OF_ERROR_CACHE], **arguments}
        del respelt[_FIELD_OF_ERROR_CACHE]
        return {**entry, "arguments": respelt}

    def _share_error_cache(self, given: Options, name: str) -> None:
        """Volcano's gang actions have no such option: they use that of allocate."""
        if given.get(name, {}).pop(_ERROR_CACHE, None) is not None:
            text = f"Volcano does not know {_ERROR_CACHE} of {name}: set that of allocate"
            self._notes.note(("configurations",), text)
        cache = given.get("allocate", {}).get(_ERROR_CACHE)
        if cache is not None:
            given.setdefault(name, {})[_ERROR_CACHE] = cache

    def _tiers(self, value: Any, options: Options) -> Iterator[dict[str, list[Any]]]:
        seen: set[str] = set()
        for number, tier in enumerate(self._notes.tables(("tiers",), value)):
            path: KeyPath = ("tiers", number)
            self._parts.note_unknown(tier, ("plugins",), path)
            plugins = self._notes.tables((*path, "plugins"), tier.get("plugins"))
            trees = [entry.get("name") for entry in plugins if entry.get(HIERARCHY_FLAG) is True]
            if "drf" in trees and any(entry.get("name") == "proportion" for entry in plugins):
                text = "Volcano rejects proportion and drf with enableHierarchy in one tier"
                self._notes.problem(path, text)
            entries = [
                self._plugin(entry, (*path, "plugins", position), options, seen)
                for position, entry in enumerate(plugins)
            ]
            entries = [entry for entry in entries if entry is not None]
            if entries:
                yield {"plugins": entries}
            else:
                self._notes.note(path, "the tier has no plugins and is left out")

    def _plugin(
        self, entry: Mapping[str, Any], path: KeyPath, options: Options, seen: set[str]
    ) -> Any:
        """The tier entry of a plugin, None if it is left out."""
        name = entry.get("name")
        others = self._catalog.third_party("plugin")
        if name not in PLUGINS and name not in others:
            near = did_you_mean(name, [*PLUGINS, *others])
            text = f"Volcano has no plugin {name!r} and ignores it{near}"
            self._notes.note(path, f"{text} (if it is one of your own, install it first)")
            return None
        if name in seen:
            text = f"{name} is listed twice; here it counts once, at its first place, with"
            self._notes.note(path, f"{text} the arguments of the last")
            options.pop(name, None)
            self._parts.plugin(entry, path, options)
            return None
        seen.add(str(name))
        return self._parts.plugin(entry, path, options)

    def _mixed_tier(self, tier: Any, path: KeyPath, options: Options) -> Any:
        if not isinstance(tier, Mapping) or not isinstance(tier.get("plugins"), list):
            return tier
        entries = []
        for number, entry in enumerate(tier["plugins"]):
            named = isinstance(entry, Mapping) and isinstance(entry.get("name"), str)
            if named and any(key in ENTRY_KEYS for key in entry if key != "name"):
                theirs = {key: entry[key] for key in entry if key in ENTRY_KEYS}
                ours = {key: entry[key] for key in entry if key not in ENTRY_KEYS}
                made = self._parts.plugin(theirs, (*path, "plugins", number), options)
                made = {"name": made} if isinstance(made, str) else made
                disable = [*made.pop("disable", ()), *ours.pop("disable", ())]
                entries.append({**made, **ours, **({"disable": disable} if disable else {})})
            else:
                entries.append(entry)
        return {**tier, "plugins": entries}

    def _metrics(self, value: Any) -> None:
        if value:
            lines = ["how Volcano measures the usage of nodes has no counterpart here"]
            if isinstance(value, Mapping):
                lines += [
                    f"{key}: {'(left out)' if _SECRET in str(key) else item}"
                    for key, item in value.items()
                ]
            self._notes.note(("metrics",), "\n".join(lines))


def _copy_upstream_checks(options: Options, actions: Any) -> None:
    """Backfill checks no more than Volcano's does."""
    if isinstance(actions, list) and "backfill" in actions:
        options.setdefault("backfill", {}).setdefault("upstreamChecks", True)


def _copy_shares_at_open(plugins: dict[str, Any]) -> None:
    """Let a queue tree under ``capacity`` order its leaves as Volcano does, flaw included."""
    table = plugins.get("capacity")
    if isinstance(table, Mapping) and HIERARCHY in table:
        plugins["capacity"] = {SHARES_AT_OPEN: True, **table}
