"""KAI's scheduler configuration, or a SchedulingShard, as a policy that decides the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pumice._nearest import did_you_mean
from pumice.config.importers._notes import ImportNotes, Note
from pumice.config.importers._text import read_configuration
from pumice.config.importers.kai.shard import expand_shard
from pumice.config.importers.kai.translate import ACTIONS, PLUGINS, translate_kai
from pumice.config.lines import KeyPath
from pumice.config.options import validate
from pumice.discovery import Catalog, Kind
from pumice.errors import LoadError

KNOWN_PLUGINS = (
    "dynamicresources", "elastic", "gpupack", "gpusharingorder", "gpuspread", "kubeflow",
    "minruntime", "nodeavailability", "nodeplacement", "nominatednode", "podaffinity",
    "predicates", "priority", "proportion", "ray", "reflectjoborder", "resourcetype", "snapshot",
    "subgrouporder", "taskorder", "topology",
)  # fmt: skip
_ARGUMENTS = {
    "dynamicresources": ("maxCelCacheEntries",),
    "minruntime": (
        "defaultPreemptMinRuntime",
        "defaultReclaimMinRuntime",
        "reclaimResolveMethod",
    ),
    "nodeplacement": ("gpu", "cpu"),
    "proportion": ("kValue", "relcaimerSaturationMultiplier"),
}
_WITHOUT_EFFECT = tuple(
    f"disable{point}"
    for point in (
        "JobOrder", "TaskOrder", "Preemptable", "Reclaimable", "QueueOrder", "Predicate",
        "NodeOrder",
    )
)  # fmt: skip
_KEYS = ("actions", "tiers", "queueDepthPerAction", "usageDBConfig")
_DEPTHLESS = ("stalegangeviction",)
_USAGE_PARAMS = ("halfLifePeriod", "windowSize", "windowType", "tumblingWindowStartTime")
_DEFAULT_WINDOW = "7d"


def import_kai(
    text: str, *, where: str = "the configuration", catalog: Catalog | None = None
) -> tuple[dict[str, Any], list[Note]]:
    """The policy, in the structure of the TOML file, and notes on what it does not express.

    The text is the scheduler's configuration, a ConfigMap with it, or a SchedulingShard, from
    which KAI's operator makes it. An empty text means KAI's default.

    :raises PolicyError: KAI would reject the file, or no policy can express it.
    """
    return _Import(where, catalog).whole(read_configuration(text, where, may_be_empty=True))


class _Import:
    def __init__(self, where: str, catalog: Catalog | None) -> None:
        self._notes = ImportNotes(where)
        self._catalog = catalog or Catalog()

    def whole(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
        config: dict[str, Any] = {}
        if data.get("kind") == "SchedulingShard":
            data = expand_shard(self._notes.table(("spec",), data.get("spec")), self._notes)
            self._notes.raise_any()
            config = {key: data[key] for key in ("plugin", "action", "scheduler") if key in data}
        else:
            for key in data:
                if key not in _KEYS:
                    near = did_you_mean(key, _KEYS)
                    self._notes.note((str(key),), f"KAI does not know it{near}")
        actions = self._actions(data.get("actions"))
        depths = self._depths(data.get("queueDepthPerAction"), actions)
        config["actions"] = [name for name in actions if depths.get(name) != 0]
        config["queueDepthPerAction"] = {n: depth for n, depth in depths.items() if depth > 0}
        tiers = self._notes.tables(("tiers",), data.get("tiers"))
        if tiers:
            config["tiers"] = [{"plugins": self._plugins(tiers)}]
            if not config["tiers"][0]["plugins"]:
                self._notes.problem(
                    ("tiers",), "no plugin is left, and a policy needs one; add a tier"
                )
        if data.get("usageDBConfig"):
            self._take_usage(config, data["usageDBConfig"])
        self._notes.raise_any()
        return translate_kai(config, where=self._notes.where), self._notes.notes

    # -- actions

    def _actions(self, value: Any) -> list[str]:
        path: KeyPath = ("actions",)
        if value is not None and not isinstance(value, str):
            wanted = "one string, like 'allocate, reclaim'"
            found = "missing; it" if value is None else ""
            end = "" if value is None else f", not {value!r}"
            self._notes.problem(path, f"{found} should be {wanted}{end}".strip())
            return []
        names: list[str] = []
        for name in (part.strip() for part in (value or ", ".join(ACTIONS)).split(",")):
            if name in names:
                self._notes.note(
                    path, f"{name} would run twice; here it runs once, at its first place"
                )
            elif name in ACTIONS or name in self._catalog.third_party("action"):
                names.append(name)
            else:
                near = did_you_mean(name, [*ACTIONS, *self._catalog.third_party("action")])
                text = f"KAI has no action {name!r}, and no other is installed under that name"
                self._notes.problem(path, f"{text}{near}")
        return names

    def _depths(self, value: Any, actions: list[str]) -> dict[str, int]:
        """The number of jobs per queue that an action considers, where it is limited."""
        depths: dict[str, int] = {}
        for name, depth in self._notes.table(("queueDepthPerAction",), value).items():
            path: KeyPath = ("queueDepthPerAction", str(name))
            if isinstance(depth, bool) or not isinstance(depth, int) or depth < -1:
                self._notes.problem(path, f"should be a number from 0, or -1, not {depth!r}")
            elif name not in ACTIONS or name in _DEPTHLESS:
                near = did_you_mean(name, list(ACTIONS)) if name not in ACTIONS else ""
                self._notes.note(path, f"without effect: no such action has a depth{near}")
            elif name in actions and depth >= 0:
                depths[name] = depth
                if depth == 0:
                    self._notes.note(path, f"at depth 0 {name} has no effect, so it is left out")
        return depths

    # -- plugins

    def _plugins(self, tiers: list[Mapping[str, Any]]) -> list[Any]:
        entries: dict[str, Any] = {}
        known = [*KNOWN_PLUGINS, *self._catalog.third_party("plugin")]
        for number, tier in enumerate(tiers):
            path: KeyPath = ("tiers", number, "plugins")
            for position, entry in enumerate(self._notes.tables(path, tier.get("plugins"))):
                place = (*path, position)
                name = entry.get("name")
                if name not in known:
                    near = did_you_mean(name, known)
                    text = f"KAI has no plugin {name!r} and ignores it{near}"
                    self._notes.note(place, f"{text} (if it is one of your own, install it first)")
                elif name in entries:
                    text = f"{name} is listed twice; here it counts once, at its first place"
                    self._notes.note(place, text)
                else:
                    entries[name] = self._plugin(name, entry, place)
        return list(entries.values())

    def _plugin(self, name: str, entry: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        for key in entry:
            if key in _WITHOUT_EFFECT:
                self._notes.note((*path, key), "without effect, in KAI too")
            elif key not in ("name", "arguments"):
                near = did_you_mean(key, ("arguments", *_WITHOUT_EFFECT))
                self._notes.note((*path, str(key)), f"KAI does not know it{near}")
        arguments = self._notes.table((*path, "arguments"), entry.get("arguments"))
        if name not in KNOWN_PLUGINS:
            return {"name": name, "arguments": dict(arguments)} if arguments else {"name": name}
        known = _ARGUMENTS.get(name, ())
        taken = {}
        for key, value in arguments.items():
            place = (*path, "arguments", str(key))
            if key not in known:
                self._notes.note(place, f"KAI does not know it{did_you_mean(key, known)}")
            elif isinstance(value, Mapping | list) or value is None:
                self._notes.problem(place, f"should be a string, not {value!r}")
            elif self._fits(name, str(key), str(value)):
                taken[str(key)] = str(value)
            else:
                self._notes.note(place, f"{value!r} cannot be read, so KAI uses its default")
        return {"name": name, "arguments": taken} if taken else {"name": name}

    def _fits(self, plugin: str, key: str, value: str) -> bool:
        kind: Kind = "plugin"
        try:
            loaded = self._catalog.load(kind, PLUGINS.get(plugin, plugin))
        except LoadError:
            return True
        return not validate(loaded.cls.Options, {key: value}, plugin)[1]

    # -- usage

    def _take_usage(self, config: dict[str, Any], value: Any) -> None:
        path: KeyPath = ("usageDBConfig",)
        usage = self._notes.table(path, value)
        params = self._notes.table((*path, "usageParams"), usage.get("usageParams"))
        options = {
            f"usage.{key}": params[key] for key in _USAGE_PARAMS if params.get(key) is not None
        }
        options.setdefault("usage.windowSize", _DEFAULT_WINDOW)
        start = options.get("usage.tumblingWindowStartTime")
        if start is not None:
            options["usage.tumblingWindowStartTime"] = self._epoch(path, start)
        if options.get("usage.windowType") == "cron":
            del options["usage.windowType"]
            text = "cron windows have no counterpart; a sliding window is used instead"
            self._notes.note((*path, "usageParams", "windowType"), text)
        extra = self._notes.table((*path, "usageParams", "extraParams"), params.get("extraParams"))
        if extra.get("queryResolution"):
            options["usage.queryResolution"] = extra["queryResolution"]
        config.setdefault("plugin", {})["proportion"] = options
        text = "usage is not read from a database: Pumice records what queues use itself"
        self._notes.note(path, text)

    def _epoch(self, path: KeyPath, value: Any) -> float:
        try:
            time = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError:
            place = (*path, "usageParams", "tumblingWindowStartTime")
            self._notes.problem(place, f"should be a time, not {value!r}")
            return 0.0
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
