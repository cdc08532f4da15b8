"""What a scenario states under ``extra`` becomes typed facts, or a setting of its backend."""

import json

import msgspec
import pytest

from pumice.model.cluster import build_cluster
from pumice.model.facts import Node, PodGroup, Queue, SubGroup
from pumice.model.resources import Resource
from pumice.model.topology import ROOT, HyperNodeTree
from pumice.scenarios.backend import ScenarioBackend
from pumice.scenarios.facts import add_facts, with_sharding
from pumice.scenarios.scenario import Extra
from tests.framework._build import World, policy


def described(world, **extra):
    add_facts(world.inventory, msgspec.json.decode(json.dumps(extra), type=Extra), now=1000.0)
    return world.inventory


@pytest.fixture
def world():
    return World().node("n").job("j")


def test_facts_of_a_pod(world):
    facts = {
        "state": "Releasing", "node": "n", "index": 3, "gpu_groups": ["g"],
        "subgroup": "left", "task_order_priority": 2, "is_legacy_mig": True,
    }  # fmt: skip
    pod = described(world, tasks={"ns/j-t-0": facts}).pods["j-t-0"]
    assert (pod.status_override, pod.node_name, pod.created) == ("Releasing", "n", 3.0)
    assert pod.gpu_groups == ("g",)
    assert pod.labels == {"kai.scheduler/subgroup-name": "left", "kai.scheduler/task-priority": "2"}
    assert [key for key in pod.annotations if key.startswith("nvidia.com/mig-")]


def test_a_pod_in_the_state_gated_has_a_gate(world):
    inventory = described(world, tasks={"ns/j-t-0": {"state": "Gated"}})
    task = build_cluster(inventory, now=1000.0).tasks["j-t-0"]
    assert (task.gated, task.status.label) == (True, "Pending")


def test_facts_of_a_pod_group(world):
    facts = {
        "priority": 7, "preemptibility": "preemptible", "creation_order": 2,
        "min_available": {"default": 4}, "last_start_seconds_ago": 60, "stale_seconds": 10,
    }  # fmt: skip
    group = described(world, jobs={"ns/j": facts}).groups["ns/j"]
    assert (group.priority, group.preemptibility, group.created) == (7, "preemptible", 2.0)
    assert (group.last_start, group.stale_since, group.min_member) == (940.0, 990.0, 4)


def test_minimums_of_sub_groups(world):
    group = PodGroup("ns/k", "k", "ns", sub_groups=[SubGroup("a", 1), SubGroup("b", 1)])
    world.inventory.groups["ns/k"] = group
    described(world, jobs={"ns/k": {"min_available": {"b": 3}}})
    assert [(s.name, s.min_member) for s in group.sub_groups] == [("a", 1), ("b", 3)]


def test_facts_of_a_node_and_a_queue(world):
    world.inventory.nodes["m"] = Node("m", Resource(), Resource())
    world.inventory.queues["q"] = Queue("q")
    inventory = described(
        world,
        nodes={"m": {"max_task_num": 500, "memory_of_every_gpu_on_node": 200}},
        queues={"q": {"index": 5}},
    )
    node = inventory.nodes["m"]
    assert (node.max_pods, node.allocatable.scalars) == (500, {"pods": 500})
    assert node.labels == {"nvidia.com/gpu.memory": "200"}
    assert inventory.queues["q"].created == 5.0
    described(world, nodes={"m": {"gpu_memory_synced": False}})
    assert node.labels == {}


def test_a_tree_given_as_tiers_finds_its_parents():
    world = World()
    for name in ("a1", "a2", "b1", "d1"):
        world.node(name)
    tiers = {
        "by_tier": {"1": ["r1", "r2"], "2": ["top"]},
        "real_nodes": {"r1": ["a1", "a2"], "r2": ["b1"], "top": ["a1", "a2", "b1"]},
    }
    inventory = described(world, hypernodes=tiers)
    tree = HyperNodeTree(inventory.hypernodes.values(), list(inventory.nodes.values()))
    assert tree.parent == {"r1": "top", "r2": "top", "top": ROOT}
    assert tree.children["top"] == ["r1", "r2"]
    assert (tree.tier[ROOT], tree.nodes["top"]) == (3, ["a1", "a2", "b1"])
    assert (tree.lowest_of_node("b1"), tree.lowest_of_node("d1")) == ("r2", ROOT)


def test_objects_that_were_known_before_are_left_alone(world):
    known = world.inventory
    known.groups["ns/j"].created = 9.0
    extra = msgspec.convert({"jobs": {"ns/j": {"creation_order": 1}}}, Extra)
    add_facts(known, extra, now=1000.0, known=known)
    assert known.groups["ns/j"].created == 9.0


def test_the_sharding_mode_is_a_setting_and_the_shard_an_object(world):
    extra = msgspec.convert({"sharding_mode": "hard", "nodes_in_shard": ["n"]}, Extra)
    settings = with_sharding(policy(), world.inventory, extra).scheduler
    assert settings.sharding_mode == "hard"
    shard = world.inventory.others["NodeShard"][settings.shard]
    assert shard == {"status": {"nodesInUse": ["n"]}}


def test_no_pods_are_made_for_a_job_that_is_being_deleted(world):
    world.job("k")
    backend = ScenarioBackend(world.inventory, between="recreate", deleted_jobs=["ns/j"])
    pods = world.inventory.pods
    assert not backend.recreates(pods["j-t-0"])
    assert backend.recreates(pods["k-t-0"])
