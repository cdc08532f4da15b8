"""Plugins and actions in Volcano's configuration: their switches and arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice._nearest import did_you_mean
from pumice.config.importers._notes import ImportNotes
from pumice.config.importers.volcano.arguments import HIERARCHY, take_arguments
from pumice.config.importers.volcano.flags import (
    CLUSTER_ORDER_FLAG,
    HIERARCHY_FLAG,
    KNOWN_FLAGS,
    points_off,
)
from pumice.config.lines import KeyPath
from pumice.discovery import Catalog, Kind, Loaded
from pumice.errors import LoadError

ENTRY_KEYS = ("name", "arguments", *KNOWN_FLAGS)
Options = dict[str, dict[str, Any]]


class Parts:
    """Reads entries; the installed classes decide which settings have an effect."""

    def __init__(self, notes: ImportNotes, catalog: Catalog) -> None:
        self._notes = notes
        self._catalog = catalog

    def plugin(
        self, entry: Mapping[str, Any], path: KeyPath, options: Options
    ) -> str | dict[str, Any]:
        """The plugin's tier entry; its options are added to ``options``."""
        name = str(entry["name"])
        loaded = self._loaded("plugin", name)
        if loaded is None:
            self._notes.note(path, f"the plugin {name} is not installed here")
        self.note_unknown(entry, ENTRY_KEYS, path)
        taken = self.arguments(entry, path, loaded)
        flags = {key: self._flag(entry[key], (*path, key)) for key in KNOWN_FLAGS if key in entry}
        if flags.get(HIERARCHY_FLAG):
            if loaded is None or HIERARCHY in loaded.cls.Options.model_fields:
                taken = {HIERARCHY: True, **taken}
            else:
                text = f"without effect: {name} has no queue tree"
                self._notes.note((*path, HIERARCHY_FLAG), text)
        if flags.get(CLUSTER_ORDER_FLAG):
            text = "without effect: nothing orders clusters"
            self._notes.note((*path, CLUSTER_ORDER_FLAG), text)
        if taken:
            options.setdefault(name, {}).update(taken)
        disable = self._disabled(name, flags, path, loaded)
        return {"name": name, "disable": disable} if disable else name

    def _disabled(
        self, name: str, flags: Mapping[str, bool | None], path: KeyPath, loaded: Loaded | None
    ) -> list[str]:
        disable: list[str] = []
        declared = self._catalog.points
        answered = None if loaded is None else {declared[p].base for p in loaded.points}
        for flag, points in points_off({key for key, on in flags.items() if on is False}).items():
            known = [point for point in points if answered is None or point in answered]
            disable += known
            if not known:
                text = f"without effect: {name} does not answer {' or '.join(points)}"
                self._notes.note((*path, flag), text)
        return disable

    def action(self, entry: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        """The options of an action."""
        return self.arguments(entry, path, self._loaded("action", str(entry["name"])))

    def arguments(
        self, entry: Mapping[str, Any], path: KeyPath, loaded: Loaded | None
    ) -> dict[str, Any]:
        value = entry.get("arguments")
        if value is not None and not isinstance(value, Mapping):
            text = f"should be a table, not {value!r}"
            self._notes.problem((*path, "arguments"), text)
        if not isinstance(value, Mapping):
            return {}
        if loaded is None:
            return {str(key): item for key, item in value.items()}
        place = (*path, "arguments")
        return take_arguments(value, loaded.cls.Options, place, self._notes.notes)

    def note_unknown(
        self, table: Mapping[Any, Any], known: tuple[str, ...], path: KeyPath = ()
    ) -> None:
        for key in table:
            if key not in known:
                text = f"Volcano does not know it{did_you_mean(key, known)}"
                self._notes.note((*path, str(key)), text)

    def _flag(self, value: Any, path: KeyPath) -> bool | None:
        if value is None or isinstance(value, bool):
            return value
        self._notes.problem(path, f"should be true or false, not {value!r}")
        return None

    def _loaded(self, kind: Kind, name: str) -> Loaded | None:
        try:
            return self._catalog.load(kind, name)
        except LoadError:
            return None
