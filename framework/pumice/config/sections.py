"""Reads the sections ``actions`` and ``tiers`` of a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pumice import deprecated
from pumice._nearest import did_you_mean
from pumice.config.layers import Layer
from pumice.config.lines import KeyPath
from pumice.config.problems import Problems
from pumice.hookspecs import ExtensionPoint

_ENTRY = ("name", "enable", "disable")
Points = Mapping[str, ExtensionPoint]


@dataclass(frozen=True, slots=True)
class Reference:
    """A plugin or action that the policy names; not yet loaded."""

    name: str
    layer: Layer
    path: KeyPath
    enable: frozenset[str] | None = None
    disable: frozenset[str] = frozenset()


def read_actions(layer: Layer, problems: Problems) -> list[Reference]:
    value = layer.data["actions"]
    if not isinstance(value, list) or not value:
        problems.add(layer, ("actions",), _should_be("'actions'", "a list of names", value))
        return []
    references: list[Reference] = []
    for number, name in enumerate(value):
        path: KeyPath = ("actions", number)
        if not isinstance(name, str):
            problems.add(layer, path, _should_be("an action", "a name", name))
        elif any(reference.name == name for reference in references):
            problems.add(layer, path, f"action {name!r} is listed twice")
        else:
            references.append(Reference(name, layer, path))
    return references


def read_tiers(layer: Layer, problems: Problems, points: Points) -> list[list[Reference]]:
    value = layer.data["tiers"]
    if not isinstance(value, list) or not value:
        problems.add(layer, ("tiers",), _should_be("'tiers'", "a list of tables", value))
        return []
    tiers: list[list[Reference]] = []
    seen: set[str] = set()
    for number, tier in enumerate(value):
        references = []
        for reference in _read_tier(layer, ("tiers", number), tier, problems, points):
            if reference.name in seen:
                problems.add(layer, reference.path, f"plugin {reference.name!r} is listed twice")
                continue
            seen.add(reference.name)
            references.append(reference)
        tiers.append(references)
    return tiers


def _read_tier(
    layer: Layer, path: KeyPath, tier: Any, problems: Problems, points: Points
) -> Iterator[Reference]:
    if not isinstance(tier, Mapping):
        problems.add(layer, path, _should_be("a tier", "a table with the key 'plugins'", tier))
        return
    for key in tier:
        if key != "plugins":
            hint = did_you_mean(key, ["plugins"]) or "; it has only 'plugins'"
            problems.add(layer, (*path, key), f"a tier has no key {key!r}{hint}")
    plugins = tier.get("plugins")
    if not isinstance(plugins, list) or not plugins:
        problems.add(
            layer, (*path, "plugins"), _should_be("'plugins' of a tier", "a list of names", plugins)
        )
        return
    for number, entry in enumerate(plugins):
        place = (*path, "plugins", number)
        if isinstance(entry, str):
            yield Reference(entry, layer, place)
        elif isinstance(entry, Mapping) and isinstance(entry.get("name"), str):
            yield _read_entry(layer, place, entry, problems, points)
        else:
            wanted = "a name or a table { name = …, enable or disable = […] }"
            problems.add(layer, place, _should_be("a plugin", wanted, entry))


def _read_entry(
    layer: Layer, path: KeyPath, entry: Mapping[str, Any], problems: Problems, points: Points
) -> Reference:
    name = entry["name"]
    for key in entry:
        if key not in _ENTRY:
            hint = did_you_mean(key, _ENTRY) or f"; its options belong under [plugin.{name}]"
            problems.add(
                layer, (*path, key), f"the entry of plugin {name!r} has no key {key!r}{hint}"
            )
    enable = _read_points(layer, (*path, "enable"), entry.get("enable"), problems, points)
    disable = _read_points(layer, (*path, "disable"), entry.get("disable"), problems, points)
    disable = disable or frozenset()
    both = sorted((enable or frozenset()) & disable)
    if both:
        text = f"plugin {name!r} both enables and disables {', '.join(both)}"
        problems.add(layer, (*path, "disable"), text)
    return Reference(name, layer, path, enable, disable)


def _read_points(
    layer: Layer, path: KeyPath, value: Any, problems: Problems, known: Points
) -> frozenset[str] | None:
    """The points that ``enable`` or ``disable`` names."""
    if value is None:
        return None
    key = path[-1]
    if not isinstance(value, list):
        problems.add(layer, path, _should_be(f"{key!r}", "a list of extension points", value))
        return None
    points = set()
    for number, point in enumerate(value):
        place = (*path, number)
        renamed = deprecated.renamed_point(point)
        if renamed is not None:
            problems.warn(layer, place, str(renamed))
            point = renamed.new
        if not isinstance(point, str) or point not in known:
            hint = did_you_mean(point, known) or "; 'pumice hooks' lists them"
            problems.add(layer, place, f"there is no extension point {point!r}{hint}")
        elif key == "disable" and not known[point].gated:
            problems.add(layer, place, f"{point!r} cannot be disabled; leave the plugin out")
        else:
            points.add(known[point].base)
    return frozenset(points)


def _should_be(what: str, wanted: str, value: Any) -> str:
    if value is None:
        return f"{what} is missing: it should be {wanted}"
    empty = isinstance(value, list | str) and not value
    return f"{what} is empty" if empty else f"{what} should be {wanted}, not {value!r}"
