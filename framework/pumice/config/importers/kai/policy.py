"""KAI's scheduler configuration, or a SchedulingShard, as a policy that decides the same."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from pumice._nearest import did_you_mean
from pumice.config.importers._notes import Note, Remarks
from pumice.config.importers._text import read_configuration
from pumice.config.importers.kai.shard import expand_shard
from pumice.config.kai import ACTIONS, PLUGINS, translate_kai
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
    """The policy, in the shape of the TOML file, and what of the YAML text it does not say.

    The text is the scheduler's configuration, a ConfigMap that holds it, or a SchedulingShard, of
    which KAI's operator makes it. An empty one stands for KAI's default.

    :raises PolicyError: KAI would refuse the file, or no policy can say it.
    """
    return _Import(where, catalog).whole(read_configuration(text, where, may_be_empty=True))


class _Import:
    def __init__(self, where: str, catalog: Catalog | None) -> None:
        self._remarks = Remarks(where)
        self._catalog = catalog or Catalog()

    def whole(self, data: Mapping[str, Any]) -> tuple[dict[str, Any], list[Note]]:
        config: dict[str, Any] = {}
        if data.get("kind") == "SchedulingShard":
            data = expand_shard(self._remarks.table(("spec",), data.get("spec")), self._remarks)
            self._remarks.raise_any()
            config = {key: data[key] for key in ("plugin", "action", "scheduler") if key in data}
        else:
            for key in data:
                if key not in _KEYS:
                    near = did_you_mean(key, _KEYS)
                    self._remarks.note((str(key),), f"KAI does not know it{near}")
        actions = self._actions(data.get("actions"))
        depths = self._depths(data.get("queueDepthPerAction"), actions)
        config["actions"] = [name for name in actions if depths.get(name) != 0]
        config["queueDepthPerAction"] = {n: depth for n, depth in depths.items() if depth > 0}
        tiers = self._remarks.tables(("tiers",), data.get("tiers"))
        if tiers:
            config["tiers"] = [{"plugins": self._plugins(tiers)}]
            if not config["tiers"][0]["plugins"]:
                self._remarks.problem(("tiers",), "there is no plugin, and a policy needs one")
        if data.get("usageDBConfig"):
            self._take_usage(config, data["usageDBConfig"])
        self._remarks.raise_any()
        return translate_kai(config, where=self._remarks.where), self._remarks.notes

    # -- actions

    def _actions(self, value: Any) -> list[str]:
        path: KeyPath = ("actions",)
        if value is not None and not isinstance(value, str):
            wanted = "one text, like 'allocate, reclaim'"
            self._remarks.problem(path, f"should be {wanted}, not {value!r}")
            return []
        names: list[str] = []
        for name in (part.strip() for part in (value or ", ".join(ACTIONS)).split(",")):
            if name in names:
                self._remarks.note(path, f"{name} would run twice; here it runs once, where first")
            elif name in ACTIONS:
                names.append(name)
            else:
                near = did_you_mean(name, list(ACTIONS))
                self._remarks.problem(path, f"KAI has no action {name!r}{near}")
        return names

    def _depths(self, value: Any, actions: list[str]) -> dict[str, int]:
        """How many jobs of a queue an action looks at, where that is limited."""
        depths: dict[str, int] = {}
        for name, depth in self._remarks.table(("queueDepthPerAction",), value).items():
            path: KeyPath = ("queueDepthPerAction", str(name))
            if isinstance(depth, bool) or not isinstance(depth, int) or depth < -1:
                self._remarks.problem(path, f"should be a number from 0, or -1, not {depth!r}")
            elif name not in ACTIONS or name in _DEPTHLESS:
                near = did_you_mean(name, list(ACTIONS)) if name not in ACTIONS else ""
                self._remarks.note(path, f"without effect: no such action has a depth{near}")
            elif name in actions and depth >= 0:
                depths[name] = depth
                if depth == 0:
                    self._remarks.note(path, f"at depth 0 {name} does nothing, so it is left out")
        return depths

    # -- plugins

    def _plugins(self, tiers: list[Mapping[str, Any]]) -> list[Any]:
        entries: dict[str, Any] = {}
        for number, tier in enumerate(tiers):
            path: KeyPath = ("tiers", number, "plugins")
            for position, entry in enumerate(self._remarks.tables(path, tier.get("plugins"))):
                place = (*path, position)
                name = entry.get("name")
                if name not in KNOWN_PLUGINS:
                    near = did_you_mean(name, KNOWN_PLUGINS)
                    text = f"KAI has no plugin {name!r} and goes on without{near}"
                    self._remarks.note(place, f"{text} (if it is one of your own, add it by hand)")
                elif name in entries:
                    text = f"{name} is listed twice; here it is asked once, where first"
                    self._remarks.note(place, text)
                else:
                    entries[name] = self._plugin(name, entry, place)
        return list(entries.values())

    def _plugin(self, name: str, entry: Mapping[str, Any], path: KeyPath) -> dict[str, Any]:
        for key in entry:
            if key in _WITHOUT_EFFECT:
                self._remarks.note((*path, key), "without effect, in KAI too")
            elif key not in ("name", "arguments"):
                near = did_you_mean(key, ("arguments", *_WITHOUT_EFFECT))
                self._remarks.note((*path, str(key)), f"KAI does not know it{near}")
        known = _ARGUMENTS.get(name, ())
        taken = {}
        arguments = self._remarks.table((*path, "arguments"), entry.get("arguments"))
        for key, value in arguments.items():
            place = (*path, "arguments", str(key))
            if key not in known:
                self._remarks.note(place, f"KAI does not know it{did_you_mean(key, known)}")
            elif isinstance(value, Mapping | list) or value is None:
                self._remarks.problem(place, f"should be a text, not {value!r}")
            elif self._fits(name, str(key), str(value)):
                taken[str(key)] = str(value)
            else:
                self._remarks.note(place, f"{value!r} cannot be read, so KAI keeps its default")
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
        usage = self._remarks.table(path, value)
        params = self._remarks.table((*path, "usageParams"), usage.get("usageParams"))
        options = {
            f"usage.{key}": params[key] for key in _USAGE_PARAMS if params.get(key) is not None
        }
        options.setdefault("usage.windowSize", _DEFAULT_WINDOW)
        start = options.get("usage.tumblingWindowStartTime")
        if start is not None:
            options["usage.tumblingWindowStartTime"] = self._epoch(path, start)
        if options.get("usage.windowType") == "cron":
            del options["usage.windowType"]
            text = "windows by a cron expression have no counterpart; a sliding one is kept"
            self._remarks.note((*path, "usageParams", "windowType"), text)
        extra = self._remarks.table(
            (*path, "usageParams", "extraParams"), params.get("extraParams")
        )
        if extra.get("queryResolution"):
            options["usage.queryResolution"] = extra["queryResolution"]
        config.setdefault("plugin", {})["proportion"] = options
        text = "usage is not asked of a database: Pumice keeps its own history of what queues hold"
        self._remarks.note(path, text)

    def _epoch(self, path: KeyPath, value: Any) -> float:
        try:
            told = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
        except ValueError:
            place = (*path, "usageParams", "tumblingWindowStartTime")
            self._remarks.problem(place, f"should be a time, not {value!r}")
            return 0.0
        return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()
