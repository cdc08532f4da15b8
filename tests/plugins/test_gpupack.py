"""Which shared GPU is filled first."""

import math

import pytest

from pumice.model.gpu.shares import WHOLE_GPU
from pumice.session.nodes.gpu_devices import ranked_devices
from tests.plugins._shares import SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    world = SharedWorld()
    world.node("n1", gpu=4)
    world.pod("x", on="n1", gpu=0.3, shares="g1")
    world.pod("y", on="n1", gpu=0.5, shares="g2")
    world.pod("a", gpu=0.5)
    world.pod("b", gpu=0.6)
    return world


def test_a_gpu_scores_the_part_in_use(world: SharedWorld) -> None:
    world.open("gpupack")
    assert [world.gpu_score("a", group) for group in ("g1", "g2", WHOLE_GPU)] == [0.3, 0.5, 0]


def test_the_fullest_that_has_room_comes_first_and_whole_gpus_last(world: SharedWorld) -> None:
    world.open("gpupack")
    whole = [WHOLE_GPU, WHOLE_GPU]
    assert ranked_devices(world.session, world.task("a"), 0) == ["g2", "g1", *whole]
    assert ranked_devices(world.session, world.task("b"), 0) == ["g1", *whole]


def test_use_follows_placements_and_their_undo(world: SharedWorld) -> None:
    world.open("gpupack")
    statement = world.allocate("a", "n1", ["g1"])
    assert world.gpu_score("a", "g1") == 0.8
    statement.discard()
    assert world.gpu_score("a", "g1") == 0.3


def test_a_gpu_of_unknown_size_is_left_out() -> None:
    world = SharedWorld()
    world.node("n1", gpu=1, memory="99")
    world.pod("a", gpu=0.5)
    world.open("gpupack")
    assert math.isnan(world.gpu_score("a", "g1"))
