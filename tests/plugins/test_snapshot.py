"""The snapshot page contains everything needed to repeat the decisions."""

import dataclasses
import io
import json
import zipfile

import pytest

from pumice.manifests import load, read_objects
from pumice.model.facts import (
    Container,
    DisruptionBudget,
    HyperNode,
    NetworkTopology,
    PodGroup,
    PriorityClass,
    Queue,
    ResourceQuota,
    SubGroup,
    SubGroupPolicy,
)
from pumice.model.resources import Resource
from tests.plugins._fair import INF, FairWorld, ask, bound

TABLES = (
    "pods", "nodes", "groups", "queues", "priority_classes", "budgets", "hypernodes", "quotas",
)  # fmt: skip


@pytest.fixture
def world():
    return FairWorld()


def archive(world):
    world.open("snapshot")
    return world.session.ask.http_handlers()["/get-snapshot"]()


def content(world):
    with zipfile.ZipFile(io.BytesIO(archive(world))) as file:
        assert file.namelist() == ["snapshot.json"]
        return json.loads(file.read("snapshot.json"))


def read_back(world):
    objects = content(world)["rawObjects"]
    return read_objects(
        (f"{kind}[{i}]", item) for kind, items in objects.items() for i, item in enumerate(items)
    )


def facts(fact):
    """A fact as plain data, without fields that have several spellings or say where it was read."""
    plain = dataclasses.asdict(fact)
    for key, value in plain.items():
        if isinstance(value, tuple):
            plain[key] = list(value)
    return {k: v for k, v in plain.items() if v and k not in ("raw", "containers", "api_group")}


def assert_same(world):
    before, after = world.inventory, read_back(world)
    assert after.problems == []
    for table in TABLES:
        then, now = getattr(before, table), getattr(after, table)
        assert then.keys() == now.keys()
        for key, fact in then.items():
            assert facts(now[key]) == facts(fact), f"{table} {key}"


def test_a_kai_cluster_is_read_back_as_it_was(world):
    world.node("n", gpu=4, gpu_memory=1000, conditions={"Ready": "True"}, unschedulable=True)
    world.queue(
        "d",
        bound(4.5, cpu=1500),
        limit=bound(INF, memory=2_000_000),
        display_name="Department",
        preempt_min_runtime=90.0,
        created=1000.0,
    )
    world.queue("q", 1, parent="d", priority=7, reclaim_min_runtime=0.5, created=2000.0)
    world.job(
        "j",
        "q",
        ask(on="n", sub_group="x", labels={"role": "head"}),
        ask(fraction=0.5, gates=("wait",)),
        created=3000.0,
        preemptibility="non-preemptible",
        scheduling_backoff=1,
        topology_constraint={"topology": "t", "requiredTopologyLevel": "rack"},
    )
    group = world.inventory.groups["ns/j"]
    group.sub_groups = [SubGroup("x", 2, parent="y"), SubGroup("y", 1)]
    group.annotations = {"kai.scheduler/last-start-timestamp": "1970-01-01T01:00:00Z"}
    group.last_start = 3600.0
    for pod in world.inventory.pods.values():
        pod.annotations = {**pod.annotations, "pod-group-name": "j"}
        pod.created = 5.0
    assert_same(world)


def test_a_volcano_cluster_is_read_back_as_it_was(world):
    world.node("n", gpu=2, taints=[{"key": "k", "effect": "NoSchedule"}])
    inventory = world.inventory
    inventory.queues["default"] = Queue("default")
    inventory.queues["q"] = Queue(
        "q",
        weight=3,
        reclaimable=False,
        state="Closed",
        deserved=Resource(500, 0),
        guarantee=Resource(0, 1 << 20),
        limit=Resource(4000, INF, {"nvidia.com/gpu": 0}),
        created=10.5,
    )
    inventory.groups["ns/g"] = PodGroup(
        "ns/g",
        "g",
        "ns",
        queue="q",
        min_member=2,
        min_task_member={"ps": 1},
        min_resources=Resource(250, 1000),
        quota_min_resources={"cpu": 250, "memory": 1000},
        priority_class="high",
        phase="Inqueue",
        network_topology=NetworkTopology("hard", 2),
        sub_group_policies=[SubGroupPolicy("p", match_label_keys=("k",), size=2)],
    )
    world._pod("ns/g", "g-0", 0, ask(priority=5, node_selector={"zone": "a"}, owner="set"))
    pod = inventory.pods["g-0"]
    pod.annotations = {"scheduling.k8s.io/group-name": "g"}
    pod.created, pod.deleted = 20.0, 30.0
    inventory.priority_classes["high"] = PriorityClass("high", 1000, global_default=True)
    inventory.budgets["ns/b"] = DisruptionBudget("b", "ns", {"matchLabels": {"a": "b"}}, 1)
    inventory.hypernodes["h"] = HyperNode(
        "h", 1, members=[{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}]
    )
    inventory.quotas["ns/x"] = ResourceQuota("x", "ns", {"requests.cpu": 1500}, {"pods": 3})
    assert_same(world)


def test_containers_are_written_and_what_the_pod_asks_besides_is_its_overhead(world):
    world.node()
    world.queue("q")
    world.job("j", "q", ask(1, cpu=700, memory=50))
    pod = world.inventory.pods["j-0"]
    pod.containers = [Container("main", Resource(500, 50, {"nvidia.com/gpu": 1000}), Resource())]
    pod.init_containers = [Container("init", Resource(100, 10), Resource())]
    (written,) = content(world)["rawObjects"]["pods"]
    assert written["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m"
    assert written["spec"]["overhead"]["cpu"] == "200m"
    assert read_back(world).pods["j-0"].request == pod.request


def test_a_pod_that_asks_less_than_its_containers_is_written_as_one(world):
    world.node()
    world.queue("q")
    world.job("j", "q", ask(1, cpu=100))
    pod = world.inventory.pods["j-0"]
    pod.containers = [Container("main", Resource(500, 0), Resource())]
    assert read_back(world).pods["j-0"].request == pod.request


def test_policy_clock_and_extra_facts_are_part_of_it(world):
    world.node()
    world.queue("q")
    world.job("j", "q", ask(on="n", status_override="Releasing", gpu_groups=("0",)), priority=7)
    world.inventory.feature_gates = {"SomeGate": False}
    world.inventory.scheduler_params = {"schedulerName": "kai-scheduler"}
    written = content(world)
    assert written["config"]["tiers"] == [{"plugins": ["snapshot"]}]
    assert written["schedulerParams"] == {"schedulerName": "kai-scheduler"}
    assert written["extra"]["now"] == world.now
    assert written["extra"]["tasks"] == {"ns/j-0": {"state": "Releasing", "gpu_groups": ["0"]}}
    assert written["extra"]["jobs"] == {"ns/j": {"priority": 7}}
    assert written["extra"]["feature_gates"] == {"SomeGate": False}


def test_objects_that_are_not_interpreted_are_in_their_lists(world):
    topology = {"apiVersion": "kai.scheduler/v1alpha1", "kind": "Topology", "metadata": {}}
    shard = {"kind": "NodeShard"}
    world.inventory.others = {"Topology": {"t": topology}, "NodeShard": {"s": shard}}
    objects = content(world)["rawObjects"]
    assert objects["topologies"] == [topology]
    assert objects["nodeShards"] == [shard]
    assert objects["bindRequests"] == []


def test_the_same_state_gives_the_same_bytes(world):
    world.node()
    world.queue("q")
    assert archive(world) == archive(world)


def test_a_pod_group_with_a_node_label_is_read_back(world):
    constraint = {"nodeLabel": "rack", "requiredTopologyLevel": "rack"}
    world.inventory.queues["q"] = Queue("q")
    world.inventory.groups["ns/g"] = PodGroup(
        "ns/g", "g", "ns", queue="q", min_member=2, topology_constraint=constraint
    )
    back = read_back(world)
    assert back.problems == []
    assert back.groups["ns/g"].topology_constraint == constraint
    assert back.groups["ns/g"].min_member == 2


def test_an_archive_is_read_by_its_name_alone(world, tmp_path):
    world.node("n", gpu=1)
    file = tmp_path / "snapshot.zip"
    file.write_bytes(archive(world))
    assert list(load([file]).nodes) == ["n"]
