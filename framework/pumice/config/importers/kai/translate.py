"""Translates KAI's scheduler configuration to Pumice's names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.config.settings import AS_UPSTREAM
from pumice.errors import PolicyError

ACTIONS = {
    "allocate": "fair_allocate",
    "consolidation": "consolidate",
    "reclaim": "solve_reclaim",
    "preempt": "solve_preempt",
    "stalegangeviction": "evict_stale_gangs",
}
PLUGINS = {"predicates": "kai_predicates", "proportion": "fairshare"}
"""The plugins whose names differ; the others have the same name."""
POINTS = {"priority": ["job_order"]}
"""The points that KAI's plugin answers, where Pumice's plugin of the same name answers more."""

UPSTREAM_FLAWS = ("upstreamStaleReleases", "upstreamBystanders", "upstreamPreemptionPolicy")
"""Options that copy what conformance pins."""
SEARCHING = ("consolidate", "solve_reclaim", "solve_preempt")
"""Actions that reproduce KAI's inexact accounting of trials; conformance pins it."""

_DEFAULT_PLUGINS = (
    "predicates", "proportion", "priority", "elastic", "kubeflow", "ray", "nodeavailability",
    "gpusharingorder", "gpupack", "resourcetype", "subgrouporder", "taskorder", "nominatednode",
    "dynamicresources", "nodeplacement", "minruntime", "topology", "snapshot",
)  # fmt: skip
_USAGE = {
    "halfLifePeriod",
    "windowSize",
    "windowType",
    "tumblingWindowStartTime",
    "queryResolution",
}
_WITHOUT_EFFECT = (
    "disableJobOrder",
    "disableTaskOrder",
    "disablePreemptable",
    "disableReclaimable",
    "disableQueueOrder",
    "disablePredicate",
    "disableNodeOrder",
)


def translate_kai(config: Mapping[str, Any], *, where: str) -> dict[str, Any]:
    """Rename actions, plugins and their option tables, and put all plugins into one tier.

    As in KAI, an empty list of actions or tiers means the default, and the switches ``disable…`` of
    a plugin have no effect.
    """
    result = {key: value for key, value in config.items() if key not in _OWN_KEYS}
    entries, arguments = _entries(config.get("tiers"), where)
    result["actions"] = [_action(name) for name in _actions(config.get("actions"), where)]
    result["tiers"] = [{"plugins": entries}]
    plugin = _merged(arguments, _renamed(config.get("plugin"), PLUGINS, f"{where}: plugin"))
    action = _renamed(config.get("action"), ACTIONS, f"{where}: action")
    for name, depth in _table(config.get("queueDepthPerAction"), where, "queueDepthPerAction"):
        action.setdefault(_action(name), {}).setdefault("queueDepth", depth)
    for name in SEARCHING:
        if name in result["actions"]:
            for option in UPSTREAM_FLAWS:
                action.setdefault(name, {}).setdefault(option, True)
    if "fairshare" in [
        entry.get("name") if isinstance(entry, dict) else entry for entry in entries
    ]:
        plugin.setdefault("fairshare", {}).setdefault("upstreamGpuMemory", True)
    usage = dict(_table(config.get("usageDBConfig"), where, "usageDBConfig"))
    for name, value in _table(usage.get("usageParams"), where, "usageDBConfig.usageParams"):
        if name in _USAGE:
            plugin.setdefault("fairshare", {}).setdefault(f"usage.{name}", value)
    for key, tables in (("plugin", plugin), ("action", action)):
        if tables:
            result[key] = tables
    if "preset" not in config:
        result.setdefault("evictions", dict(AS_UPSTREAM))
    return result


_OWN_KEYS = ("actions", "tiers", "plugin", "action", "queueDepthPerAction", "usageDBConfig")


def _action(name: Any) -> Any:
    return ACTIONS.get(name, name) if isinstance(name, str) else name


def _actions(value: Any, where: str) -> list[Any]:
    """The names: a list, or one string with commas as in KAI's files."""
    if isinstance(value, str):
        value = [name.strip() for name in value.split(",") if name.strip()]
    if value is not None and not isinstance(value, list):
        raise _wrong(where, "actions", "a list of names, or names separated by commas", value)
    return value or list(ACTIONS)


def _entries(tiers: Any, where: str) -> tuple[list[Any], dict[str, dict[str, Any]]]:
    """All plugins in order, and their arguments."""
    if not tiers and (tiers is None or isinstance(tiers, list)):
        tiers = [{"plugins": list(_DEFAULT_PLUGINS)}]
    if not isinstance(tiers, list):
        raise _wrong(where, "tiers", "a list of tables", tiers)
    entries: list[Any] = []
    arguments: dict[str, dict[str, Any]] = {}
    for number, tier in enumerate(tiers):
        place = f"tiers[{number}]"
        plugins = tier.get("plugins") if isinstance(tier, Mapping) else None
        if not isinstance(plugins, list):
            raise _wrong(where, place, "a table with a list 'plugins'", tier)
        for entry in plugins:
            name, translated = _entry(entry)
            entries.append(translated)
            given = entry.get("arguments") if isinstance(entry, Mapping) else None
            if given:
                arguments[name] = dict(_table(given, where, f"arguments of plugin {name}"))
    return entries, arguments


def _entry(entry: Any) -> tuple[str, Any]:
    """The plugin's name here and its tier entry; anything else is returned as it is."""
    if isinstance(entry, str):
        entry = {"name": entry}
    if not isinstance(entry, Mapping) or not isinstance(entry.get("name"), str):
        return "", entry
    known: str = entry["name"]
    name: str = PLUGINS.get(known, known)
    own = {
        key: value
        for key, value in entry.items()
        if key not in ("name", "arguments", *_WITHOUT_EFFECT)
    }
    if known in POINTS and "enable" not in own:
        own["enable"] = POINTS[known]
    return name, {"name": name, **own} if own else name


def _renamed(tables: Any, names: Mapping[str, str], where: str) -> dict[str, dict[str, Any]]:
    return {
        names.get(name, name): dict(_table(table, where, name))
        for name, table in _table(tables, where, "")
    }


def _merged(
    lower: dict[str, dict[str, Any]], upper: dict[str, dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    return {
        name: {**lower.get(name, {}), **upper.get(name, {})}
        for name in dict.fromkeys([*lower, *upper])
    }


def _table(value: Any, where: str, key: str) -> list[tuple[str, Any]]:
    if value is None:
        return []
    if not isinstance(value, Mapping):
        raise _wrong(where, key, "a table", value)
    return list(value.items())


def _wrong(where: str, key: str, wanted: str, value: Any) -> PolicyError:
    place = f"{where}: {key}" if key else where
    return PolicyError(where, [f"{place} should be {wanted}, not {value!r}"])
