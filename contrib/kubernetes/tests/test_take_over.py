"""A scheduler that takes over goes on with what the last one began."""

from __future__ import annotations

from typing import Any

import pytest
from _objects import node, pod
from test_inventory import NOW, World

from pumice import Decisions, EvictionLog, Inventory, Scheduler, load_policy


class Taking:
    """Decides on a world and carries nothing out."""

    def __init__(self, world: World) -> None:
        self.world = world

    def snapshot(self) -> Inventory:
        return self.world.snapshot()

    def apply(self, decisions: Decisions) -> None:
        self.world.live.log = decisions.eviction_log
        self.world.live.decided(decisions.jobs)

    def now(self) -> float:
        return NOW


def claim(name: str, **more: Any) -> dict[str, Any]:
    return pod(name, "x", cpu="4", annotations={"pumice/queue": "blue"}, **more)


def leaving(name: str) -> dict[str, Any]:
    item = pod(name, "x", cpu="4", annotations={"pumice/queue": "red"}, nodeName="n1")
    item["metadata"]["deletionTimestamp"] = "2027-01-15T08:00:00Z"
    return item | {"status": {"phase": "Running"}}


@pytest.fixture
def world() -> World:
    """Room was freed for ``nominated`` on n1; ``rival`` is more important and came later."""
    made = World()
    made.put(node("n1", "8"))
    made.put(leaving("v"))
    made.put(claim("stays", nodeName="n1") | {"status": {"phase": "Running"}})
    made.put(claim("nominated") | {"status": {"phase": "Pending", "nominatedNodeName": "n1"}})
    meta = {"name": "high"}
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    made.put({**kind, "metadata": meta, "value": 1000, "preemptionPolicy": "Never"})
    made.put(claim("rival", priorityClassName="high", priority=1000, preemptionPolicy="Never"))
    return made


def outcome(world: World) -> list[str]:
    scheduler = Scheduler(Taking(world), load_policy(None, preset="pumice"), verify=True)
    first = scheduler.run_once()
    assert not first.binds
    assert not first.evictions
    world.remove("Pod", "x/v")
    return [bind.task for bind in scheduler.run_once().binds]


def test_room_that_was_freed_for_a_nominated_pod_is_held_for_it(world: World) -> None:
    assert outcome(world) == ["x/nominated"]


def test_without_the_nomination_the_more_important_one_would_take_it(world: World) -> None:
    world.live.log = EvictionLog()
    world.put(claim("nominated") | {"status": {"phase": "Pending"}})
    assert outcome(world) == ["x/rival"]
