"""Preferred pod affinity, in KAI's scale."""

from typing import Any

import pytest

from tests.plugins._shares import HOST, SharedWorld


def prefers(app: str, weight: int, *, near: bool = True) -> dict[str, Any]:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": HOST}
    return {
        "podAffinity" if near else "podAntiAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": weight, "podAffinityTerm": term}
            ]
        }
    }


@pytest.fixture
def world() -> SharedWorld:
    world = SharedWorld()
    world.node("n1")
    world.node("n2")
    world.pod("db", on="n2", labels={"app": "db"}, affinity=prefers("web", 3))
    world.pod("likes", affinity=prefers("db", 10))
    world.pod("shuns", affinity=prefers("db", 10, near=False))
    world.pod("web", labels={"app": "web"})
    world.pod("later", affinity=prefers("web", 5))
    world.pod("plain")
    return world


def test_weights_count_as_they_are(world: SharedWorld) -> None:
    world.open("podaffinity")
    assert world.scores("likes") == [0, 1_000_000]
    assert world.scores("shuns") == [0, -1_000_000]
    assert world.scores("plain") == [0, 0]


def test_preferences_of_existing_pods_count(world: SharedWorld) -> None:
    world.open("podaffinity")
    assert world.scores("web") == [0, 300_000]


def test_required_affinity_of_existing_pods_does_not_count() -> None:
    world = SharedWorld()
    world.node("n1")
    world.node("n2")
    term = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": HOST}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    world.pod("db", on="n2", affinity={"podAffinity": required})
    world.pod("web", labels={"app": "web"})
    world.open("podaffinity")
    assert world.scores("web") == [0, 0]


def test_an_evicted_pod_is_still_there_and_a_moved_one_twice(world: SharedWorld) -> None:
    world.open("podaffinity")
    assert world.scores("likes") == [0, 1_000_000]
    with world.session.statement() as statement:
        statement.evict(world.task("db"), "test")
        assert world.scores("likes") == [0, 1_000_000]
        statement.pipeline(world.task("db"), world.session.nodes.row_of["n1"])
        assert world.scores("likes") == [1_000_000, 1_000_000]
    assert world.scores("likes") == [0, 1_000_000]


def test_a_task_without_score_is_not_scored_again(world: SharedWorld) -> None:
    world.open("podaffinity")
    later = world.task("later")
    world.session.ask.node_pre_order(later, world.session.nodes.view())
    world.allocate("web", "n1")
    world.session.ask.node_pre_order(later, world.session.nodes.view())
    assert world.scores("later") == [0, 0]


def test_a_task_first_queried_later_is_scored(world: SharedWorld) -> None:
    world.open("podaffinity")
    world.allocate("web", "n1")
    later = world.task("later")
    world.session.ask.node_pre_order(later, world.session.nodes.view())
    assert world.scores("later") == [500_000, 0]
