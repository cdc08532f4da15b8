"""Mixed clusters: a whole cycle of the default pipeline, beside the peer where it was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.scenarios import Runner, Scenario
from pumice.scheduler import Scheduler
from tests.bench._case import Measured
from tests.bench._clock import Timing
from tests.bench._measure import Profile
from tests.bench._mixed_clusters import MixedShape, mixed_cluster

UNFINISHED = "unfinished"


@dataclass(frozen=True)
class Peer:
    """What a peer needed for a cluster; the scenario tests compare what it decided."""

    cpu: float
    unit: float
    """CPU seconds of the unit of work on its machine."""


@dataclass(frozen=True)
class MixedCase:
    """One mixed cluster: a recorded file, or a shape to draw."""

    label: str
    family: str
    nodes: int
    shape: MixedShape | None = None
    file: Path | None = None
    peer: Peer | None = None
    unfinished: bool = False
    """Whether the peer gave up on it."""

    @property
    def name(self) -> str:
        return f"{self.family} mixed, {self.nodes} nodes, {self.label}"

    def scheduler(self) -> Scheduler:
        """A scheduler on the cluster, before its first cycle."""
        if self.shape is not None:
            inventory = mixed_cluster(self.shape)
            policy = policy_from_dict(mixed_policy(self.shape), where=self.name)
            return Scheduler(MemoryBackend(inventory), policy)
        assert self.file is not None
        scenario = msgspec.json.decode(self.file.read_bytes(), type=Scenario)
        return Runner().scheduler(scenario, self.file)[0]

    @staticmethod
    def measure(case: MixedCase, number: int, profile: Profile) -> Measured:
        """One whole cycle: open, all actions, close."""
        scheduler = case.scheduler()
        with Timing(profile) as first:
            session = scheduler.open_session()
        with Timing(profile) as timing:
            for action in scheduler.holder.actions:
                scheduler.run_action(session, action)
            decisions = scheduler.finish(session)
        placed, evicted = (
            len(decisions.binds) + len(decisions.pipelined),
            len(decisions.evictions),
        )
        cpu, wall = first.cpu + timing.cpu, first.wall + timing.wall
        return Measured(cpu, first.cpu, wall, placed, evicted)


def mixed_policy(shape: MixedShape) -> dict[str, Any]:
    """The preset of the family, with the plugin that its queues are meant for."""
    policy: dict[str, Any] = {
        "preset": shape.family,
        "scheduler": {"on_plugin_error": "raise"},
    }
    if shape.family == "kai" or shape.queues == "proportion":
        return policy
    first, second = policy_from_dict({"preset": shape.family}).raw["tiers"]
    plugins = ["capacity" if plugin == "proportion" else plugin for plugin in second["plugins"]]
    policy["tiers"] = [first, {"plugins": plugins}]
    policy["plugin"] = {"capacity": {"hierarchy": shape.queues == "hierarchy"}}
    return policy


def drawn_cases() -> Iterator[MixedCase]:
    """Clusters of our own: small ones of all kinds, then larger ones."""
    for family, kinds in _KINDS.items():
        for kind in kinds:
            sizes = [(6, 1), (10, 2), (15, 3), (20, 4), (24, 5), (100, 1), (300, 1)]
            if kind == kinds[0]:
                sizes += [(100, 2), (300, 2), (1000, 1)]
            for nodes, seed in sizes:
                shape = MixedShape(family, nodes, seed, kind)
                yield MixedCase(shape.name, family, nodes, shape)


_KINDS: Mapping[Any, tuple[Any, ...]] = {
    "volcano": ("proportion", "capacity", "hierarchy"),
    "kai": ("departments",),
}


def recorded_cases(shared: Path | None) -> list[MixedCase]:
    """The clusters that the peers have decided; none without the folder of shared material."""
    peers = shared / "mixed" / "peers.json" if shared is not None else None
    if peers is None or not peers.is_file():
        return []
    rows: Mapping[str, Mapping[str, Any]] = json.loads(peers.read_text(encoding="utf-8"))["rows"]
    return [_recorded(peers.parent / name, row) for name, row in rows.items()]


def _recorded(file: Path, row: Mapping[str, Any]) -> MixedCase:
    unfinished = file.parent.name == UNFINISHED
    peer = Peer(row["cpu"], row["unit_cpu_seconds"]) if "cpu" in row else None
    nodes = row.get("nodes") or int(file.stem.split("-")[1])
    return MixedCase(file.stem, row["family"], nodes, file=file, peer=peer, unfinished=unfinished)
