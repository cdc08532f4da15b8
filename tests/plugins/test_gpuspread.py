"""Which shared GPU gets the next part."""

import math

import pytest

from pumice.model.gpu.shares import WHOLE_GPU
from pumice.session.nodes.gpu_devices import ranked_devices
from tests.plugins._shares import SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    world = SharedWorld()
    world.node("n1", gpu=3)
    world.pod("x", on="n1", gpu=0.4, shares="g1")
    world.pod("y", on="n1", gpu=0.2, shares="g2")
    world.pod("a", gpu=0.5)
    return world


def test_a_gpu_scores_the_part_that_is_free(world: SharedWorld) -> None:
    world.open("gpuspread")
    assert [world.gpu_score("a", group) for group in ("g1", "g2", WHOLE_GPU)] == [0.6, 0.8, 1]


def test_whole_gpus_come_first_then_the_emptiest(world: SharedWorld) -> None:
    world.open("gpuspread")
    assert ranked_devices(world.session, world.task("a"), 0) == [WHOLE_GPU, "g2", "g1"]


def test_beside_packing_the_scores_add_up_to_a_draw(world: SharedWorld) -> None:
    world.open("gpuspread", "gpupack")
    assert ranked_devices(world.session, world.task("a"), 0) == ["g1", "g2", WHOLE_GPU]


def test_a_gpu_of_unknown_size_is_left_out() -> None:
    world = SharedWorld()
    world.node("n1", gpu=1, memory="99")
    world.pod("a", gpu=0.5)
    world.open("gpuspread")
    assert math.isnan(world.gpu_score("a", "g1"))
    assert ranked_devices(world.session, world.task("a"), 0) == [WHOLE_GPU]
