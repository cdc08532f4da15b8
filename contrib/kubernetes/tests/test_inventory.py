"""Objects to facts: identity, gangs of plain pods, and what is assumed after a decision."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from _objects import node, pod
from msgspec import Raw

from pumice import Bind, Inventory, JobState
from pumice_kubernetes.inventory import LiveInventory
from pumice_kubernetes.reflector import MetaWire
from pumice_kubernetes.resources import RESOURCES, Served
from pumice_kubernetes.store import Store

SERVED = {(r.group, r.kind): Served(r, "v1") for r in RESOURCES}
NOW = 1_800_000_000.0


class World:
    """A store that is filled by hand."""

    def __init__(self) -> None:
        self.store = Store(["pumice"])
        self.live = LiveInventory(self.store)
        self.version = 0

    def put(self, item: dict[str, Any], version: int | None = None) -> None:
        self.version += 1
        meta = item["metadata"]
        uid = meta.setdefault("uid", f"uid-{meta['name']}")
        wire = MetaWire(meta["name"], meta.get("namespace", ""), uid, str(version or self.version))
        group, _, _ = item.get("apiVersion", "v1").rpartition("/")
        self.store.put(SERVED[group, item["kind"]], wire, Raw(msgspec.json.encode(item)))

    def remove(self, kind: str, key: str, uid: str = "") -> None:
        self.store.remove(SERVED["", kind], key, uid)

    def snapshot(self, now: float = NOW) -> Inventory:
        return self.live.snapshot(now)


@pytest.fixture
def world() -> World:
    return World()


def job(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name, "namespace": "x", "uid": f"uid-{name}"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec}


def owned(name: str, owner: str, **more: Any) -> dict[str, Any]:
    item = pod(name, "x", **more)
    item["metadata"]["ownerReferences"] = [
        {"kind": "Job", "name": owner, "uid": f"uid-{owner}", "controller": True}
    ]
    return item


def state(job: str, phase: str = "Inqueue", **more: Any) -> JobState:
    return JobState(job, "default", phase, 0, 1, "", **more)


def test_what_has_not_changed_is_the_same_object(world: World) -> None:
    world.put(node("n1"))
    world.put(pod("a", "x"))
    world.put(pod("b", "x"))
    first = world.snapshot()
    world.put(pod("b", "x", cpu="2"))
    second = world.snapshot()
    assert second.nodes["n1"] is first.nodes["n1"]
    assert second.pods["uid-a"] is first.pods["uid-a"]
    assert second.pods["uid-b"] is not first.pods["uid-b"]
    assert all(second.groups[uid] is group for uid, group in first.groups.items())
    assert second.queues["default"] is first.queues["default"]


def test_a_version_that_changes_nothing_for_scheduling_is_no_change(world: World) -> None:
    item = node("n1")
    world.put(item)
    before, changes = world.snapshot().nodes["n1"], world.store.changes
    item["status"]["conditions"][0]["lastHeartbeatTime"] = "2026-01-01T00:00:00Z"
    world.put(item)
    assert world.snapshot().nodes["n1"] is before
    assert world.store.changes == changes


def test_old_versions_and_versions_that_come_twice_are_ignored(world: World) -> None:
    world.put(pod("a", "x", cpu="2"), version=9)
    world.put(pod("a", "x", cpu="1"), version=8)
    world.put(pod("a", "x", cpu="1"), version=9)
    assert world.snapshot().pods["uid-a"].request.cpu == 2000


def test_the_end_of_an_earlier_object_of_the_name_does_not_remove_the_new_one(
    world: World,
) -> None:
    world.put(pod("a", "x"))
    world.remove("Pod", "x/a", "uid-of-another")
    assert "uid-a" in world.snapshot().pods
    world.remove("Pod", "x/a", "uid-a")
    assert not world.snapshot().pods


def test_an_event_from_before_its_end_brings_no_object_back(world: World) -> None:
    item = pod("a", "x")
    world.put(item)
    world.remove("Pod", "x/a", "uid-a")
    world.put(item)
    assert not world.snapshot().pods
    world.put({**item, "metadata": {**item["metadata"], "uid": "uid-of-the-next"}})
    assert "uid-of-the-next" in world.snapshot().pods


def test_what_a_list_lacked_may_come_back(world: World) -> None:
    world.put(pod("a", "x"))
    world.remove("Pod", "x/a")
    world.put(pod("a", "x"))
    assert "uid-a" in world.snapshot().pods


def test_pods_of_other_schedulers_use_room_and_are_in_no_job(world: World) -> None:
    world.put(pod("a", "x", scheduler="default-scheduler", nodeName="n1"))
    named = {"scheduling.k8s.io/group-name": "g"}
    world.put(pod("b", "x", scheduler="volcano", annotations=named))
    inventory = world.snapshot()
    assert {p.group for p in inventory.pods.values()} == {""}
    assert not inventory.groups


def test_a_malformed_object_is_left_out_and_comes_back_when_it_is_right(world: World) -> None:
    item = pod("a", "x")
    item["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "lots"
    world.put(item)
    assert not world.snapshot().pods
    world.put(pod("a", "x"))
    assert "uid-a" in world.snapshot().pods


def test_a_gang_by_annotation(world: World) -> None:
    marks = {"pumice/gang": "g", "pumice/min-member": "2", "pumice/queue": "red"}
    for name in "ab":
        world.put(pod(name, "x", annotations=marks))
    inventory = world.snapshot()
    assert list(inventory.groups) == ["x/g"]
    group = inventory.groups["x/g"]
    assert (group.queue, group.min_member) == ("red", 2)
    assert "red" in inventory.queues
    for name in "ab":
        world.remove("Pod", f"x/{name}")
    assert not world.snapshot().groups


@pytest.mark.parametrize("job_first", [True, False])
def test_a_batch_job_is_a_gang_whichever_is_seen_first(world: World, job_first: bool) -> None:
    pods = [owned(name, "train") for name in "abc"]
    items = (
        [job("train", parallelism=3), *pods] if job_first else [*pods, job("train", parallelism=3)]
    )
    for item in items:
        world.put(item)
    inventory = world.snapshot()
    assert {p.group for p in inventory.pods.values()} == {"x/job-train"}
    assert inventory.groups["x/job-train"].min_member == 3
    assert list(inventory.groups) == ["x/job-train"]


def test_no_more_pods_than_completions_are_waited_for(world: World) -> None:
    world.put(job("train", parallelism=8, completions=2))
    world.put(owned("a", "train"))
    assert world.snapshot().groups["x/job-train"].min_member == 2


def test_the_phase_of_a_gang_of_plain_pods_is_remembered(world: World) -> None:
    world.put(pod("a", "x"))
    world.snapshot()
    assert [s.job for _, s in world.live.decided([state("x/pod-a")])] == ["x/pod-a"]
    assert not world.live.decided([state("x/pod-a")])
    first = world.snapshot()
    assert first.groups["x/pod-a"].phase == "Inqueue"
    assert world.snapshot().groups["x/pod-a"] is first.groups["x/pod-a"]


def test_a_condition_that_differs_in_its_time_only_is_not_written_again(world: World) -> None:
    world.put(pod("a", "x"))
    world.snapshot()
    condition = {"type": "Unschedulable", "status": "True", "transitionID": "cycle-1"}
    assert world.live.decided([state("x/pod-a", conditions=(condition,))])
    again = {**condition, "transitionID": "cycle-2"}
    assert not world.live.decided([state("x/pod-a", conditions=(again,))])
    assert world.live.decided([state("x/pod-a", conditions=({**again, "reason": "new"},))])


def test_the_condition_of_a_job_that_waits_ends_when_it_does_not(world: World) -> None:
    world.put(pod("a", "x"))
    world.snapshot()
    waits = {"type": "Waiting", "status": "True", "reason": "NodesFull"}
    assert world.live.decided([state("x/pod-a", conditions=(waits,))])
    ((group, _),) = world.live.decided([state("x/pod-a")])
    assert group.conditions == ()
    assert not world.live.decided([state("x/pod-a")])


def test_a_bind_counts_before_the_watch_brings_it(world: World) -> None:
    world.put(node("n1"))
    world.put(pod("a", "x"))
    world.snapshot()
    world.live.bound(Bind("x/a", "uid-a", "n1", {"k": "v"}), NOW)
    assumed = world.snapshot().pods["uid-a"]
    assert (assumed.node_name, dict(assumed.annotations)) == ("n1", {"k": "v"})
    assert world.snapshot().pods["uid-a"] is assumed
    world.put(pod("a", "x", labels={"new": "label"}))  # another change, from before the bind
    assert world.snapshot().pods["uid-a"].node_name == "n1"
    world.put(pod("a", "x", nodeName="n1"))
    assert world.snapshot().pods["uid-a"] is world.store.tables["pods"]["uid-a"]


def test_an_eviction_counts_before_the_watch_brings_it(world: World) -> None:
    world.put(pod("a", "x", nodeName="n1"))
    world.snapshot()
    world.live.evicted("uid-a", NOW)
    assert world.snapshot().pods["uid-a"].deleted == NOW
    world.remove("Pod", "x/a")
    assert not world.snapshot().pods


def test_what_never_comes_back_is_not_assumed_for_ever(world: World) -> None:
    world.put(pod("a", "x"))
    world.live.bound(Bind("x/a", "uid-a", "n1"), NOW)
    assert world.snapshot(NOW + 59).pods["uid-a"].node_name == "n1"
    assert world.snapshot(NOW + 61).pods["uid-a"].node_name == ""


def test_nominations_of_an_earlier_scheduler_hold_the_room(world: World) -> None:
    item = pod("a", "x")
    item["status"] = {"phase": "Pending", "nominatedNodeName": "n1"}
    world.put(item)
    world.put(pod("b", "x"))
    log = world.snapshot().eviction_log
    assert log is not None
    assert list(log.reservations) == ["x/pod-a"]
    assert [t.node for t in log.reservations["x/pod-a"].tasks] == ["n1"]


def test_queues_are_the_same_until_one_changes(world: World) -> None:
    def queue(name: str, weight: int) -> dict[str, Any]:
        return {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name},
            "spec": {"weight": weight},
        }

    world.put(queue("red", 1))
    first = world.snapshot()
    assert world.snapshot().queues["red"] is first.queues["red"]
    world.put(queue("red", 2))
    assert world.snapshot().queues["red"].weight == 2


def test_a_group_of_an_unknown_queue_is_left_out_where_queues_are_objects(world: World) -> None:
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "spec": {}}
    world.put({**queue, "metadata": {"name": "red"}})
    world.put(pod("a", "x", labels={"pumice/queue": "blue"}))
    assert not world.snapshot().groups


def native(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec},
    }


def test_a_workload_may_be_seen_after_its_pod_group(world: World) -> None:
    world.put(native("g", podGroupTemplateRef={"workload": {"workloadName": "w"}}))
    first = world.snapshot().groups["x/g"]
    assert (first.queue, first.min_member) == ("default", 2)
    assert world.snapshot().groups["x/g"] is first
    meta = {"name": "w", "namespace": "x", "labels": {"pumice/queue": "red"}}
    version = "scheduling.k8s.io/v1alpha2"
    world.put({"apiVersion": version, "kind": "Workload", "metadata": meta, "spec": {}})
    assert world.snapshot().groups["x/g"].queue == "red"


def test_the_phase_of_a_native_group_outlives_its_status(world: World) -> None:
    item = native("g")
    world.put(item)
    world.put(pod("a", "x", schedulingGroup={"podGroupName": "g"}))
    world.snapshot()
    ((group, _),) = world.live.decided([state("x/g", "Inqueue")])
    (condition,) = group.conditions
    assert (condition["type"], condition["status"]) == ("PodGroupScheduled", "False")
    assert not world.live.decided([state("x/g", "Inqueue")])
    written = {**condition, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    world.put({**item, "status": {"conditions": [written]}})
    assert world.snapshot().groups["x/g"].phase == "Inqueue"
    assert not world.live.decided([state("x/g", "Inqueue")])
    ((group, _),) = world.live.decided([state("x/g", "Running")])
    assert [c["status"] for c in group.conditions] == ["True"]


def test_a_pod_of_a_native_group_is_in_no_gang_of_its_own(world: World) -> None:
    world.put(pod("a", "x", schedulingGroup={"podGroupName": "g"}))
    assert not world.snapshot().groups  # its group is not there yet
    world.put(native("g"))
    assert list(world.snapshot().groups) == ["x/g"]
    world.store.remove(SERVED["scheduling.k8s.io", "PodGroup"], "x/g")
    assert not world.snapshot().groups


def test_what_kais_binder_is_asked_for_counts_until_its_request_is_seen(world: World) -> None:
    world.put(pod("a", "x", annotations={"gpu-fraction": "0.5"}))
    world.live.bound(Bind("x/a", "uid-a", "n1", gpu_groups=("g1",)), NOW)
    assumed = world.snapshot().pods["uid-a"]
    assert (assumed.node_name, assumed.gpu_groups) == ("n1", ("g1",))
    meta = {"name": "a", "namespace": "x"}
    version = "scheduling.run.ai/v1alpha2"
    world.put({"apiVersion": version, "kind": "BindRequest", "metadata": meta, "spec": {}})
    assert world.snapshot().pods["uid-a"].node_name == ""  # the model reads the request
