"""Nodes on which a shared GPU has room."""

import pytest

from tests.plugins._shares import SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    world = SharedWorld()
    for name in ("n1", "n2", "n3"):
        world.node(name, gpu=2)
    world.pod("x", on="n2", gpu=0.5, shares="g1")
    world.pod("y", on="n3", gpu=0.9, shares="g2")
    world.pod("half", gpu=0.5)
    world.pod("tenth", gpu=0.1)
    world.pod("some", memory=600)
    world.pod("whole", gpu=1)
    world.pod("cpus")
    world.open("gpusharingorder")
    return world


@pytest.mark.parametrize(
    "task, scores",
    [
        ("half", [0, 1000, 0]),
        ("tenth", [0, 1000, 1000]),
        ("some", [0, 0, 0]),
        ("whole", [0, 0, 0]),
        ("cpus", [0, 1000, 1000]),
    ],
)
def test_a_node_scores_where_the_task_fits_in(
    world: SharedWorld, task: str, scores: list[float]
) -> None:
    assert world.scores(task) == scores


def test_scores_follow_placements_and_their_undo(world: SharedWorld) -> None:
    assert world.scores("half") == [0, 1000, 0]
    statement = world.allocate("tenth", "n2", ["g1"])
    assert world.scores("half") == [0, 0, 0]
    statement.discard()
    assert world.scores("half") == [0, 1000, 0]


def test_a_gpu_whose_pods_are_all_releasing_counts_as_whole(world: SharedWorld) -> None:
    with world.session.statement() as statement:
        statement.evict(world.task("x"), "test")
        assert world.scores("half") == [0, 0, 0]
    assert world.scores("half") == [0, 1000, 0]
