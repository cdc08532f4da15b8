"""The rules of one family do not apply to jobs of the other."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from pumice.backends.memory import MemoryBackend
from pumice.config import policy_from_dict
from pumice.model.cluster import build_cluster
from pumice.model.facts import Queue
from pumice.model.families import families_of
from pumice.model.resources import Resource
from pumice.model.task import TaskStatus
from pumice.scheduler import Scheduler
from tests.framework import _histories
from tests.framework._build import World

COLUMNS = ("allocatable", "idle", "used", "releasing", "future_idle", "pod_count", "claimable")
POLICIES = {
    "volcano": policy_from_dict({"preset": "volcano"}),
    "solver": policy_from_dict(
        {
            "actions": ["enqueue", "fair_allocate", "solve_preempt"],
            "tiers": [{"plugins": ["fairshare", "gang", "priority"]}],
        }
    ),
}


def with_kai_queue(inventory):
    """The cluster with one more queue, of KAI, in which there is no job."""
    return replace(inventory, queues={**inventory.queues, "kai": Queue("kai", family="kai")})


def volcano_only():
    """A Volcano cluster with everything that KAI reads differently."""
    amd, fraction = {"amd.com/gpu": 2000}, {"gpu-fraction": "0.5"}
    world = World().node("a", gpu=2).node("b").node("c", gpu=1)
    for name, node in world.inventory.nodes.items():
        if name == "b":
            room = Resource(node.allocatable.cpu, node.allocatable.memory, {"pods": 9, **amd})
            world.inventory.nodes[name] = replace(node, allocatable=room, capacity=room)
    world.job("plain", 3, gpu=1).job("part", pod={"annotations": fraction}, gpu=1)
    world.job("red", priority=3)
    pod = world.inventory.pods["red-t-0"]
    pod.request = Resource(pod.request.cpu, pod.request.memory, {"pods": 1, "amd.com/gpu": 1000})
    world.running("lost", "c", gpu=1)
    world.inventory.pods["lost-t-0"].phase = "Unknown"
    world.pod("alone", node="a", gpu=0, annotations=fraction, labels={"runai-gpu-group": "g"})
    world.inventory.others = {
        "BindRequest": {"ns/plain-t-0": {"spec": {"selectedNode": "c"}}},
        "ResourceSlice": {
            "s": {"spec": {"driver": "gpu.example.com", "nodeName": "b", "devices": [{}, {}]}}
        },
    }
    return world.inventory


def decisions(inventory, policy):
    backend = MemoryBackend(inventory, now=1e6)
    scheduler = Scheduler(backend, policy, verify=True)
    made = []
    for _ in range(2):
        cycle = scheduler.run_once()
        made.append((cycle.binds, cycle.evictions, cycle.pipelined, cycle.task_states))
        backend.advance()
    return made


CLUSTERS = {"all": volcano_only, **{str(n): lambda n=n: _histories.volcano(n) for n in range(4)}}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_kai_queue_changes_nothing_for_volcano_jobs_and_nodes(cluster):
    alone = build_cluster(CLUSTERS[cluster](), now=1e6)
    beside = build_cluster(with_kai_queue(CLUSTERS[cluster]()), now=1e6)
    assert alone.dimensions.names == beside.dimensions.names
    for column in COLUMNS:
        assert np.array_equal(getattr(alone.nodes, column), getattr(beside.nodes, column)), column
    for uid, task in alone.tasks.items():
        other = beside.tasks[uid]
        assert (task.status, task.node, task.gpu, task.best_effort, task.compared) == (
            other.status, other.node, other.gpu, other.best_effort, other.compared,
        )  # fmt: skip
        assert np.array_equal(task.vector, other.vector)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_kai_queue_changes_no_decision_about_volcano_jobs(cluster, policy):
    alone = decisions(CLUSTERS[cluster](), POLICIES[policy])
    assert alone == decisions(with_kai_queue(CLUSTERS[cluster]()), POLICIES[policy])


def test_a_volcano_pod_of_unknown_phase_counts_on_its_node_beside_kai_jobs():
    inventory = volcano_only()
    kai = _histories.kai(1)
    both = replace(
        inventory,
        pods=inventory.pods | kai.pods,
        groups=inventory.groups | kai.groups,
        queues=inventory.queues | kai.queues,
        nodes=inventory.nodes | kai.nodes,
    )
    nodes = build_cluster(both, now=1e6).nodes
    assert "lost-t-0" in nodes.held[nodes.row_of["c"]]


def test_what_differs_between_the_families():
    families = families_of(kai=True)
    volcano, kai = families["volcano"], families["kai"]
    assert (volcano.default_priority, kai.default_priority) == (0, 50)
    assert kai.not_on_a_node - volcano.not_on_a_node == {TaskStatus.UNKNOWN}
    foreign = SimpleNamespace(scheduler_name="other")
    assert not volcano.takes(foreign, ["us"])
    assert kai.takes(foreign, ["us"])


@pytest.mark.parametrize("name, kai", [("volcano", False), ("kai", True)])
def test_a_job_says_what_its_family_does(name, kai):
    world = World().node("a").job("j", tasks=1, cpu=1)
    world.inventory.groups["ns/j"].family = name
    job = build_cluster(world.inventory, now=0.0).jobs["ns/j"]
    assert job.takes_foreign_pods is kai
    assert job.heeds_preemption_policy is not kai
