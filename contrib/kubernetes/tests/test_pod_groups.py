"""Gangs and queues by Kubernetes' own pod groups and by Pumice's, on a real API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from _control_plane import ApiRefusedError, ControlPlane, Kubelet, wait_for
from _crds import OWN
from _objects import node, pod
from test_cluster import (
    KAI,
    VOLCANO,
    Crds,
    Create,
    Schedule,
    condition,
    cycles,
    kai_queue,
    members,
    placed,
    podgroup,
    running,
    settle,
    volcano_queue,
)

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes"), pytest.mark.long]
NATIVE = "scheduling.k8s.io/v1alpha2"
NATIVE_GROUPS = f"/apis/{NATIVE}/namespaces/x/podgroups"
OWN_GROUPS = f"/apis/{OWN}/v1alpha1/namespaces/x/podgroups"
Group = Callable[..., list[dict[str, Any]]]


def native(name: str, count: int, minimum: int, queue: str = "", **spec: Any) -> list[Any]:
    """A native pod group and its pods; the queue is a label of the group."""
    group = {
        "apiVersion": NATIVE,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": minimum}}, **spec},
    }
    if queue:
        group["metadata"]["labels"] = {"pumice/queue": queue}  # type: ignore[index]
    named = {"podGroupName": name}
    return [group, *(pod(f"{name}-{i}", "x", schedulingGroup=named) for i in range(count))]


def own(name: str, count: int, minimum: int, queue: str = "", **spec: Any) -> list[Any]:
    """One of Pumice's own pod groups and its pods."""
    group = podgroup(OWN, "v1alpha1", name, queue, minimum)
    group["spec"] |= spec
    return [group, *members("pumice/gang", name, count)]


def own_queue(name: str, **spec: Any) -> dict[str, Any]:
    meta = {"name": name}
    return {"apiVersion": f"{OWN}/v1alpha1", "kind": "Queue", "metadata": meta, "spec": spec}


@pytest.fixture(params=["native", "own"])
def group(request: pytest.FixtureRequest, crds: Crds) -> Group:
    """Makes a pod group with its pods."""
    if request.param == "own":
        crds(OWN)
        return own
    return native


@pytest.fixture(params=["native", OWN, VOLCANO, KAI])
def eight(request: pytest.FixtureRequest, crds: Crds) -> list[dict[str, Any]]:
    """A gang of eight by each of the kinds of pod groups, with what it needs."""
    if request.param == "native":
        return native("g", 8, 8)
    crds(request.param)
    if request.param == OWN:
        return own("g", 8, 8)
    if request.param == VOLCANO:
        pods = members("scheduling.k8s.io/group-name", "g", 8)
        return [volcano_queue("q"), podgroup(VOLCANO, "v1beta1", "g", "q", 8), *pods]
    pods = members("pod-group-name", "g", 8)
    return [kai_queue("q"), podgroup(KAI, "v2alpha2", "g", "q", 8), *pods]


def scheduled(cluster: ControlPlane, name: str) -> dict[str, Any]:
    """The condition of a native pod group."""
    for one in cluster.get(f"{NATIVE_GROUPS}/{name}").get("status", {}).get("conditions") or ():
        if one["type"] == "PodGroupScheduled":
            return dict(one)
    return {}


def phase(cluster: ControlPlane, name: str) -> str:
    """The phase of one of Pumice's own pod groups."""
    return str(cluster.get(f"{OWN_GROUPS}/{name}").get("status", {}).get("phase", ""))


def test_a_gang_of_eight_binds_whole_or_not_at_all(
    cluster: ControlPlane,
    create: Create,
    kubelet: Kubelet,
    schedule: Schedule,
    eight: list[dict[str, Any]],
) -> None:
    create(node("n1", "4"), *eight)
    scheduler = schedule()
    wait_for(lambda: condition(cluster, "g-0").get("message"))
    cycles(scheduler, 2)
    assert placed(cluster) == {}
    create(node("n2", "4"))
    wait_for(lambda: running(cluster, "g-") == 8)
    assert len(scheduler.binds) == 8
    assert sorted(placed(cluster).values()) == ["n1"] * 4 + ["n2"] * 4


@pytest.mark.parametrize("queues", [False, True], ids=["queues by name", "queue objects"])
def test_reclaim_evicts_and_the_claimant_binds_after(
    cluster: ControlPlane,
    create: Create,
    crds: Crds,
    kubelet: Kubelet,
    schedule: Schedule,
    group: Group,
    queues: bool,
) -> None:
    create(node("n1", "8"))
    if queues:
        crds(OWN)
        create(own_queue("red", deserved={"cpu": 4}), own_queue("blue", deserved={"cpu": 4}))
    create(*group("r", 8, 1, "red"))
    scheduler = schedule()
    wait_for(lambda: running(cluster, "r-") == 8)
    create(*group("b", 4, 4, "blue"))
    wait_for(lambda: running(cluster, "b-") == 4)
    assert len(scheduler.evictions) == 4
    assert {one.action for one in scheduler.evictions} == {"solve_reclaim"}
    assert running(cluster, "r-") == 4


def test_a_native_group_says_whether_it_is_scheduled_and_only_on_change(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule
) -> None:
    create(node("n1", "4"), *native("g", 8, 8))
    scheduler = schedule()
    wait_for(lambda: scheduled(cluster, "g").get("status") == "False")
    assert scheduled(cluster, "g")["reason"] == "Unschedulable"
    assert scheduled(cluster, "g")["message"]
    settle(scheduler)
    before = cluster.get(f"{NATIVE_GROUPS}/g")["metadata"]["resourceVersion"]
    cycles(scheduler, 3)
    assert cluster.get(f"{NATIVE_GROUPS}/g")["metadata"]["resourceVersion"] == before
    create(node("n2", "4"))
    wait_for(lambda: scheduled(cluster, "g").get("status") == "True")


def test_one_of_pumices_own_groups_has_a_phase(
    cluster: ControlPlane, create: Create, crds: Crds, kubelet: Kubelet, schedule: Schedule
) -> None:
    crds(OWN)
    create(node("n1", "2"), *own("g", 4, 4))
    schedule()
    wait_for(lambda: phase(cluster, "g"))
    assert phase(cluster, "g") in ("Pending", "Inqueue")
    create(node("n2", "2"))
    wait_for(lambda: phase(cluster, "g") == "Running")


RACK = "example.test/rack"


def racks(*sizes: tuple[str, str]) -> list[dict[str, Any]]:
    return [node(f"n{i}", cpu, **{RACK: rack}) for i, (rack, cpu) in enumerate(sizes)]


@pytest.mark.parametrize("kind", ["native", "own"])
def test_a_topology_constraint_keeps_a_group_in_one_domain(
    cluster: ControlPlane,
    create: Create,
    crds: Crds,
    kubelet: Kubelet,
    schedule: Schedule,
    kind: str,
) -> None:
    crds(OWN)
    if kind == "native":
        wanted = native("g", 4, 4, schedulingConstraints={"topology": [{"key": RACK}]})
    else:
        wanted = own("g", 4, 4, topologyKey=RACK)
    create(*racks(("a", "3"), ("b", "2"), ("b", "1")), *wanted)
    scheduler = schedule()
    wait_for(lambda: condition(cluster, "g-0").get("message"))
    cycles(scheduler, 2)
    assert placed(cluster) == {}  # six CPUs are free, no rack has four of them
    assert RACK in condition(cluster, "g-0")["message"]
    create(node("late", "1", **{RACK: "b"}))
    wait_for(lambda: running(cluster, "g-") == 4)
    assert set(placed(cluster).values()) == {"n1", "n2", "late"}


def test_the_queue_of_a_native_group_may_be_said_by_its_workload_or_its_pods(
    cluster: ControlPlane, create: Create, schedule: Schedule
) -> None:
    template = {"name": "t", "schedulingPolicy": {"gang": {"minCount": 1}}}
    workload = {
        "apiVersion": NATIVE,
        "kind": "Workload",
        "metadata": {"name": "w", "namespace": "x", "annotations": {"pumice/queue": "red"}},
        "spec": {"podGroupTemplates": [template]},
    }
    reference = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
    create(workload, node("n1"), *native("one", 1, 1, podGroupTemplateRef=reference))
    two = native("two", 1, 1)
    two[1]["metadata"]["labels"] = {"kai.scheduler/queue": "blue"}
    create(*two)
    scheduler = schedule()

    def queues() -> dict[str, str]:
        return {g.name: g.queue for g in scheduler.backend.snapshot().groups.values()}

    wait_for(lambda: queues() == {"one": "red", "two": "blue"})


def test_a_gang_by_annotations_belongs_to_the_pod_group_of_its_name_when_there_is_one(
    cluster: ControlPlane, create: Create, crds: Crds, schedule: Schedule
) -> None:
    crds(OWN)
    item, *pods = own("g", 2, 2, "red")
    create(node("n1", "1"), *pods)
    scheduler = schedule()
    cycles(scheduler, 1)
    create(item)
    wait_for(lambda: scheduler.backend.snapshot().groups["x/g"].queue == "red")
    cluster.request("DELETE", f"{OWN_GROUPS}/g", {})
    wait_for(lambda: scheduler.backend.snapshot().groups["x/g"].queue == "default")


def test_the_shipped_definitions_refuse_nonsense(cluster: ControlPlane, crds: Crds) -> None:
    crds(OWN)
    with pytest.raises(ApiRefusedError, match="minMember"):
        cluster.create(podgroup(OWN, "v1alpha1", "g", "red", 0))
    with pytest.raises(ApiRefusedError, match="weight"):
        cluster.create(own_queue("red", weight=-1))
