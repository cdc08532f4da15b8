"""Crowded random clusters of both families, with a policy and some cycles to run on each."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.decisions import Decisions
from pumice.model.facts import Inventory
from pumice.scheduler import Scheduler
from pumice.testing.random_clusters import seeded_cluster
from tests.twin import kai_world, volcano_world

GREEDY = ("enqueue", "allocate", "backfill", "reclaim", "preempt")
GANG = {"name": "gang", "disable": ["preemptable"]}
FIRST = ["priority", GANG, "conformance"]
SOLVING = ("consolidate", "solve_reclaim", "solve_preempt")


def greedy(*plugins: Any, actions: Sequence[str] = GREEDY, **tables: Any) -> dict[str, Any]:
    tiers = [{"plugins": FIRST}, {"plugins": list(plugins)}]
    return {"actions": list(actions), "tiers": tiers, **tables}


def kai(*plugins: str, leave: Sequence[str] = (), **tables: Any) -> dict[str, Any]:
    """The preset with plugins added and left out."""
    (tier,) = policy_from_dict({"preset": "kai"}).raw["tiers"]
    kept = [plugin_entry for plugin_entry in tier["plugins"] if plugin_entry not in leave]
    return {"preset": "kai", "tiers": [{"plugins": [*kept, *plugins]}], **tables}


def solving(**options: Any) -> dict[str, Any]:
    """The same options for every action that searches."""
    return dict.fromkeys(SOLVING, options)


POLICIES: dict[str, dict[str, Mapping[str, Any]]] = {
    "volcano": {
        "preset volcano": {"preset": "volcano"},
        "preset pumice": {"preset": "pumice"},
        "everybody votes": {
            "actions": list(GREEDY),
            "tiers": [
                {"plugins": ["priority", "gang", "conformance", "pdb"]},
                {"plugins": ["drf", "predicates", "proportion", "nodeorder", "sla"]},
            ],
        },
        "hierarchy": greedy(
            "drf", "predicates", "nodeorder", "binpack", plugin={"drf": {"hierarchy": True}}
        ),
        "capacity": greedy("drf", "predicates", "capacity", "nodeorder"),
        "one node at a time": greedy(
            {"name": "drf", "disable": ["preemptable"]},
            "predicates",
            "proportion",
            "nodeorder",
            action={"preempt": {"enableTopologyAwarePreemption": True}},
        ),
        "whole gangs": greedy(
            "predicates",
            "proportion",
            "network-topology-aware",
            "task-topology",
            "binpack",
            actions=("enqueue", "allocate", "backfill", "gangreclaim", "gangpreempt"),
        ),
    },
    "kai": {
        "preset kai": {"preset": "kai"},
        "exact": kai(action=solving(upstreamStaleReleases=False)),
        "spread": kai(
            "podaffinity",
            "gpuspread",
            leave=["gpupack"],
            plugin={"nodeplacement": {"gpu": "spread", "cpu": "spread"}},
        ),
        "never tired": kai(
            action={
                **solving(useSchedulingSignatures=False),
                "consolidate": {"maxNumberConsolidationPreemptees": -1},
            }
        ),
    },
    "mixed": {
        "both families": greedy(
            "predicates",
            "proportion",
            {"name": "fairshare", "disable": ["queue_order", "allocatable"]},
            "nodeorder",
            actions=("enqueue", "allocate", "backfill", "reclaim", *SOLVING),
        ),
    },
}
SHARES = {"volcano": 11, "kai": 8, "mixed": 1}
"""How many of twenty clusters are of a family."""


@cache
def _policy(family: str, name: str) -> Policy:
    table = {"scheduler": {"on_plugin_error": "raise"}, **POLICIES[family][name]}
    if "preset" not in table:
        table.setdefault("evictions", AS_UPSTREAM)
    return policy_from_dict(table, where=f"{family}: {name}")


@dataclass(frozen=True)
class TwinWorld:
    """A cluster to run twice."""

    family: str
    policy_name: str
    inventory: Inventory
    now: float
    cycles: int
    between: Literal["settle", "recreate", "none"]

    @property
    def policy(self) -> Policy:
        return _policy(self.family, self.policy_name)

    def run(self, plain: Sequence[str] = ()) -> list[Decisions]:
        """The decisions of every cycle, made without these shortcuts."""
        backend = MemoryBackend(self.inventory, now=self.now, between=self.between)
        scheduler = Scheduler(backend, self.policy.without(plain))
        for number in range(self.cycles):
            if number:
                backend.advance()
                backend.step(30.0)
            scheduler.run_once()
        scheduler.close()
        return backend.history


def seeded_twin_world(seed: int) -> TwinWorld:
    """The same cluster, policy and cycles for the same seed."""
    dice = random.Random(seed)
    families = [family for family, share in SHARES.items() for _ in range(share)]
    family = families[seed % len(families)]
    name = dice.choice(list(POLICIES[family]))
    kind = dice.random()
    if family == "volcano" and kind < 0.15:
        cluster = seeded_cluster(seed)
    elif family == "volcano" and kind < 0.35:
        cluster = volcano_world.draw_roomy(dice)
    elif family == "volcano" and kind < 0.65:
        cluster = volcano_world.draw_contested(dice)
    elif family == "kai":
        draw = kai_world.draw if kind < 0.5 else kai_world.draw_contested
        cluster = draw(dice)
    else:
        cluster = volcano_world.draw(dice, guests=family == "mixed")
    return TwinWorld(
        family,
        name,
        cluster.inventory,
        cluster.now,
        cycles=dice.choice([1, 1, 1, 1, 1, 1, 2]),
        between=dice.choice(["settle", "recreate"]),
    )
