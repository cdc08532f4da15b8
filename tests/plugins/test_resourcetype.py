"""Nodes without GPUs for tasks without GPUs."""

import pytest

from tests.plugins._shares import SharedWorld


@pytest.fixture
def world() -> SharedWorld:
    world = SharedWorld()
    world.node("n1")
    world.node("n2", gpu=1)
    world.node("n3", room={"nvidia.com/mig-1g.10gb": "1"})
    world.node("n4", labels={"node-role.kubernetes.io/mig-enabled": "true"})
    world.node(
        "n5",
        labels={"node-role.kubernetes.io/mig-enabled": "false"},
        room={"nvidia.com/mig-1g.10gb": "1"},
    )
    world.pod("cpus")
    world.pod("part", gpu=0.5)
    world.pod("whole", gpu=1)
    world.pod("memory", memory=100)
    world.pod("mig", requests={"nvidia.com/mig-1g.10gb": "1"})
    world.open("resourcetype")
    return world


def test_nodes_without_any_gpu_score_10(world: SharedWorld) -> None:
    assert world.scores("cpus") == [10, 0, 0, 0, 10]


@pytest.mark.parametrize("task", ["part", "whole", "memory", "mig"])
def test_tasks_with_gpus_have_no_preference(world: SharedWorld, task: str) -> None:
    assert world.scores(task) == [0] * 5


def test_gpus_of_any_vendor_are_gpus() -> None:
    world = SharedWorld()
    world.node("n1", room={"amd.com/gpu": "2"})
    world.node("n2")
    world.pod("cpus")
    world.open("resourcetype")
    assert world.scores("cpus") == [0, 10]
