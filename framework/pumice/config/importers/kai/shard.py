"""Turns a SchedulingShard into the scheduler configuration that KAI's operator makes of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.config.importers._notes import ImportNotes
from pumice.config.lines import KeyPath

_ACTIONS = {
    "allocate": 500,
    "consolidation": 400,
    "reclaim": 300,
    "preempt": 200,
    "stalegangeviction": 100,
}
_PLUGINS = {
    "predicates": 1900,
    "proportion": 1800,
    "priority": 1700,
    "nodeavailability": 1600,
    "resourcetype": 1500,
    "podaffinity": 1400,
    "elastic": 1300,
    "kubeflow": 1200,
    "ray": 1100,
    "subgrouporder": 1000,
    "taskorder": 900,
    "nominatednode": 800,
    "dynamicresources": 700,
    "minruntime": 600,
    "topology": 500,
    "snapshot": 400,
    "gpupack": 300,
    "gpuspread": 300,
    "nodeplacement": 200,
    "gpusharingorder": 100,
}
_KEYS = (
    "placementStrategy", "queueDepthPerAction", "minRuntime", "kValue", "usageDBConfig", "plugins",
    "actions", "args", "partitionLabelValue",
)  # fmt: skip
_STRATEGIES = ("binpack", "spread")

FLAGS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "max-consolidation-preemptees": (
        ("action", "consolidation", "maxNumberConsolidationPreemptees"),
    ),
    "use-scheduling-signatures": tuple(
        ("action", name, "useSchedulingSignatures")
        for name in ("consolidation", "reclaim", "preempt")
    ),
    "allow-consolidating-reclaim": (("action", "reclaim", "allowConsolidatingReclaim"),),
    "default-staleness-grace-period": (
        ("action", "stalegangeviction", "defaultStalenessGracePeriod"),
    ),
    "restrict-node-scheduling": (("plugin", "predicates", "restrictNodeScheduling"),),
    "gpu-worker-node-label-key": (("plugin", "predicates", "gpuWorkerNodeLabelKey"),),
    "cpu-worker-node-label-key": (("plugin", "predicates", "cpuWorkerNodeLabelKey"),),
    "queue-label-key": (("plugin", "dynamicresources", "queueLabelKey"),),
    "schedule-period": (("scheduler", "", "period"),),
    "scheduler-name": (("scheduler", "", "scheduler_names"),),
}
"""Flags of the scheduler → (part of the policy, its name in KAI, option)."""


def expand_shard(spec: Mapping[str, Any], notes: ImportNotes) -> dict[str, Any]:
    """The configuration with KAI's names; options from flags are tables of a policy."""
    return _Shard(spec, notes).expand()


class _Shard:
    def __init__(self, spec: Mapping[str, Any], notes: ImportNotes) -> None:
        self._spec = spec
        self._notes = notes

    def expand(self) -> dict[str, Any]:
        for key in self._spec:
            if key not in _KEYS:
                self._notes.note(("spec", str(key)), "KAI does not know it")
        config: dict[str, Any] = {"actions": "", "tiers": []}
        strategy = self._strategy()
        spread = "spread" in strategy.values()
        off = {"consolidation"} if spread else set()
        actions = self._enabled("actions", _ACTIONS, off)
        config["actions"] = ", ".join(name for name, _ in actions)
        config["tiers"] = [{"plugins": self._plugins(strategy)}]
        for key in ("queueDepthPerAction", "usageDBConfig"):
            if self._spec.get(key):
                config[key] = self._spec[key]
        if self._spec.get("partitionLabelValue"):
            text = "without effect: the nodes, queues and jobs are those in the given objects"
            self._notes.note(("spec", "partitionLabelValue"), text)
        self._take_flags(config, {name for name, _ in actions})
        return config

    def _strategy(self) -> dict[str, str]:
        strategies = self._notes.table(
            ("spec", "placementStrategy"), self._spec.get("placementStrategy")
        )
        strategy = {"gpu": "binpack", "cpu": "binpack"}
        for key, value in strategies.items():
            if key not in strategy:
                self._notes.note(("spec", "placementStrategy", str(key)), "KAI does not know it")
            elif value not in _STRATEGIES:
                text = f"should be binpack or spread, not {value!r}"
                self._notes.problem(("spec", "placementStrategy", key), text)
            else:
                strategy[key] = value
        return strategy

    def _plugins(self, strategy: Mapping[str, str]) -> list[dict[str, Any]]:
        packs = strategy["gpu"] == "binpack"
        off = {"gpuspread"} if packs else {"gpupack", "gpusharingorder"}
        defaults: dict[str, dict[str, Any]] = {"nodeplacement": dict(strategy)}
        if self._spec.get("kValue") is not None:
            defaults["proportion"] = {"kValue": str(self._spec["kValue"])}
        runtimes = self._notes.table(("spec", "minRuntime"), self._spec.get("minRuntime"))
        for key, argument in (
            ("preemptMinRuntime", "defaultPreemptMinRuntime"),
            ("reclaimMinRuntime", "defaultReclaimMinRuntime"),
        ):
            if runtimes.get(key):
                defaults.setdefault("minruntime", {})[argument] = str(runtimes[key])
        entries = []
        for name, entry in self._enabled("plugins", _PLUGINS, off):
            arguments = entry.get("arguments") or defaults.get(name)
            entries.append({"name": name, **({"arguments": arguments} if arguments else {})})
        return entries

    def _enabled(
        self, key: str, priorities: Mapping[str, int], off: set[str]
    ) -> list[tuple[str, Mapping[str, Any]]]:
        """The enabled plugins or actions, the highest priority first."""
        path: KeyPath = ("spec", key)
        given = {
            str(name): self._notes.table((*path, str(name)), entry)
            for name, entry in self._notes.table(path, self._spec.get(key)).items()
        }
        ranked = []
        for name in dict.fromkeys([*priorities, *given]):
            entry = given.get(name, {})
            priority = entry.get("priority", priorities.get(name, 0))
            if isinstance(priority, bool) or not isinstance(priority, int):
                text = f"should be a whole number, not {priority!r}"
                self._notes.problem((*path, name, "priority"), text)
            elif entry.get("enabled", name not in off):
                ranked.append((-priority, name))
        return [(name, given.get(name, {})) for _, name in sorted(ranked)]

    def _take_flags(self, config: dict[str, Any], actions: set[str]) -> None:
        for flag, value in self._notes.table(("spec", "args"), self._spec.get("args")).items():
            places = FLAGS.get(str(flag).lstrip("-"))
            if places is None:
                text = "this flag of KAI's scheduler has no counterpart here"
                self._notes.note(("spec", "args", str(flag)), text)
                continue
            for part, of, option in places:
                if part == "scheduler":
                    config.setdefault(part, {})[option] = str(value)
                elif part == "plugin" or of in actions:
                    config.setdefault(part, {}).setdefault(of, {})[option] = str(value)
