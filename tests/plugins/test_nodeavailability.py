"""Nodes with room right now."""

import pytest

from tests.plugins._shares import SharedWorld


def two_nodes() -> SharedWorld:
    """Two nodes of one GPU; a pod uses that of ``n1``."""
    world = SharedWorld()
    for name in ("n1", "n2"):
        world.node(name, gpu=1)
    world.pod("x", on="n1", gpu=1)
    return world


@pytest.fixture
def world() -> SharedWorld:
    world = two_nodes()
    world.pod("whole", gpu=1)
    world.pod("part", gpu=0.5)
    world.pod("cpus", cpu=8)
    world.pod("nothing", cpu=0)
    world.open("nodeavailability")
    return world


@pytest.mark.parametrize(
    "task, scores",
    [
        ("whole", [0, 100]),
        ("part", [0, 100]),
        ("cpus", [0, 100]),
        ("nothing", [100, 100]),
    ],
)
def test_a_node_with_idle_room_scores_100(
    world: SharedWorld, task: str, scores: list[float]
) -> None:
    assert world.scores(task) == scores


def test_room_that_is_being_freed_is_not_available(world: SharedWorld) -> None:
    with world.session.statement() as statement:
        statement.evict(world.task("x"), "test")
        assert world.scores("whole") == [0, 100]


def test_a_gpu_that_is_being_shared_is_no_whole_one(world: SharedWorld) -> None:
    statement = world.allocate("part", "n2", ["g1"])
    assert world.scores("whole") == [0, 0]
    statement.discard()
    assert world.scores("whole") == [0, 100]


def test_memory_beyond_a_gpu_fits_only_where_gpus_go_into_it_evenly() -> None:
    world = SharedWorld()
    world.node("n1", gpu=1, memory="800")
    world.node("n2", gpu=1, memory="1000")
    world.node("n3", gpu=1, memory="2000")
    world.pod("a", memory=2000)
    world.pod("b", memory=1500)
    world.open("nodeavailability")
    assert world.scores("a") == [0, 100, 100]
    assert world.scores("b") == [0, 0, 100]


def test_an_overcommitted_gpu_makes_a_node_unavailable() -> None:
    world = two_nodes()
    world.pod("part", gpu=0.5)
    world.pod("cpus")
    world.pod("nothing", cpu=0)
    world.open("nodeavailability")
    with world.session.statement() as statement:
        statement.evict(world.task("x"), "test")
        statement.pipeline(world.task("part"), 0, groups=("g",))
        assert world.scores("cpus") == [100, 100]
        statement.evict(world.task("part"), "test")
        assert world.session.nodes.handle(0).idle.scalars["nvidia.com/gpu"] == -1000
        assert world.scores("cpus") == [0, 100]
        assert world.scores("nothing") == [100, 100]
