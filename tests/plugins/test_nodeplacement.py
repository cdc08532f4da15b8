"""Packing and spreading by the free part of one resource."""

import pytest

from pumice.errors import PolicyError
from tests.plugins._shares import SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    """Free GPUs: 1 of 4, 3 of 4, none at all, 8 of 8; free CPUs: 7, 7, 8 and 8 of 8."""
    world = SharedWorld()
    for name, gpus in (("n1", 4), ("n2", 4), ("n3", 0), ("n4", 8)):
        world.node(name, gpu=gpus)
    world.pod("x", on="n1", gpu=3)
    world.pod("y", on="n2", gpu=1)
    world.pod("gpus", gpu=1)
    world.pod("part", gpu=0.5)
    world.pod("cpus")
    return world


def test_packing_gives_9_to_the_fullest_and_0_to_the_emptiest(world: SharedWorld) -> None:
    world.open("nodeplacement")
    assert world.scores("gpus") == [9, pytest.approx(9 * 5 / 7), 0, 0]


def test_a_part_of_a_gpu_is_placed_by_whole_gpus(world: SharedWorld) -> None:
    world.open("nodeplacement")
    assert world.scores("part") == world.scores("gpus")


def test_only_the_given_nodes_are_compared(world: SharedWorld) -> None:
    world.open("nodeplacement")
    assert world.scores("gpus", "n2", "n4") == [9, 0]


def test_nodes_that_are_equally_full_get_9(world: SharedWorld) -> None:
    world.open("nodeplacement")
    assert world.scores("gpus", "n2") == [9]
    assert world.scores("cpus", "n1", "n2") == [9, 9]


def test_nodes_with_nothing_free_get_nothing(world: SharedWorld) -> None:
    world.pod("z", on="n1", gpu=1)
    world.open("nodeplacement")
    assert world.scores("gpus", "n1") == [0]
    assert world.scores("gpus", "n3") == [0]


def test_spreading_scores_the_free_part(world: SharedWorld) -> None:
    world.open("nodeplacement", gpu="spread", cpu="spread")
    assert world.scores("gpus") == [0.25, 0.75, 0, 1]
    assert world.scores("cpus") == [0.875, 0.875, 1, 1]


def test_gpus_and_cpus_have_strategies_of_their_own(world: SharedWorld) -> None:
    world.open("nodeplacement", gpu="spread")
    assert world.scores("gpus") == [0.25, 0.75, 0, 1]
    assert world.scores("cpus") == [9, 9, 0, 0]


def test_spreading_divides_by_the_label_of_the_number_of_gpus() -> None:
    world = SharedWorld()
    world.node("n1", gpu=4, labels={"nvidia.com/gpu.count": "8"})
    world.node("n2", gpu=4, labels={"nvidia.com/gpu.count": "0"})
    world.node("n3", gpu=4, labels={"nvidia.com/gpu.count": "four"})
    world.pod("a", gpu=1)
    world.open("nodeplacement", gpu="spread")
    assert world.scores("a") == [0.5, 0, 1]


def test_what_is_pipelined_is_not_free(world: SharedWorld) -> None:
    world.open("nodeplacement", gpu="spread")
    statement = world.session.statement()
    assert statement.pipeline(world.task("gpus"), 1) is None
    assert world.scores("part")[1] == 0.5
    statement.discard()
    assert world.scores("part")[1] == 0.75


def test_an_unknown_strategy_is_rejected(world: SharedWorld) -> None:
    with pytest.raises(PolicyError, match="'binpack' or 'spread'"):
        world.open("nodeplacement", gpu="stack")
