"""Scheduling against a real API server, with the rights that are shipped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from _control_plane import ApiRefusedError, ControlPlane, Kubelet, wait_for
from _objects import node, pod
from _scheduler import RunningScheduler

import pumice

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes")]
Create = Callable[..., list[Any]]
Schedule = Callable[..., RunningScheduler]
Crds = Callable[..., None]
PODS = "/api/v1/namespaces/x/pods"
VOLCANO, KAI = "scheduling.volcano.sh", "scheduling.run.ai"


def gang(name: str, count: int, minimum: int, queue: str = "", **more: Any) -> list[dict[str, Any]]:
    """Pods of a gang by annotations alone."""
    marks = {"pumice/gang": name, "pumice/min-member": str(minimum)}
    if queue:
        marks["pumice/queue"] = queue
    return [pod(f"{name}-{i}", "x", annotations=marks, **more) for i in range(count)]


def placed(cluster: ControlPlane, prefix: str = "") -> dict[str, str]:
    """The node of every pod that is bound."""
    return {
        item["metadata"]["name"]: item["spec"]["nodeName"]
        for item in cluster.get(PODS)["items"]
        if item["spec"].get("nodeName") and item["metadata"]["name"].startswith(prefix)
    }


def running(cluster: ControlPlane, prefix: str) -> int:
    return sum(
        item["status"].get("phase") == "Running"
        and item["metadata"]["name"].startswith(prefix)
        and not item["metadata"].get("deletionTimestamp")
        for item in cluster.get(PODS)["items"]
    )


def condition(cluster: ControlPlane, name: str) -> dict[str, Any]:
    for one in cluster.get(f"{PODS}/{name}")["status"].get("conditions") or ():
        if one["type"] == "PodScheduled":
            return dict(one)
    return {}


def reasons(scheduler: RunningScheduler) -> list[str]:
    """All reasons of all jobs so far."""
    return [state.reason for decisions in scheduler.history for state in decisions.jobs]


def cycles(scheduler: RunningScheduler, count: int) -> None:
    """Let so many more cycles pass."""
    before = len(scheduler.history)
    wait_for(lambda: len(scheduler.history) >= before + count or scheduler.error)


def settle(scheduler: RunningScheduler) -> None:
    """Let cycles pass until they change nothing any more and everything is reported."""
    backend = scheduler.backend

    def is_settled() -> bool:
        before = backend.store.changes
        cycles(scheduler, 2)  # without a change they are a second apart
        writer = backend._thread.writer
        return backend.store.changes == before and not writer._due and not writer._sending

    wait_for(is_settled, 60)


def test_a_gang_of_eight_binds_whole_or_not_at_all(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule
) -> None:
    create(node("n1", "4"), *gang("g", 8, 8))
    scheduler = schedule()
    wait_for(lambda: condition(cluster, "g-0").get("message"))
    cycles(scheduler, 2)
    assert placed(cluster) == {}
    assert condition(cluster, "g-0")["reason"] == "Unschedulable"
    create(node("n2", "4"))
    wait_for(lambda: running(cluster, "g-") == 8)
    assert len(scheduler.binds) == 8
    assert sorted(placed(cluster).values()) == ["n1"] * 4 + ["n2"] * 4


@pytest.mark.long
def test_a_batch_job_is_a_gang(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule
) -> None:
    template = {
        "metadata": {},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "pause"}]},
    }
    meta = {"name": "train", "namespace": "x"}
    spec = {"parallelism": 2, "completions": 2, "template": template}
    (job,) = create({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": spec})
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "controller": True}
    owner["uid"] = job["metadata"]["uid"]
    pods = [pod(f"train-{i}", "x", cpu="4") for i in range(2)]
    for item in pods:
        item["metadata"]["ownerReferences"] = [owner]
    create(node("n1", "8"), pods[0])
    scheduler = schedule()
    cycles(scheduler, 3)
    assert placed(cluster) == {}
    create(pods[1])
    wait_for(lambda: running(cluster, "train-") == 2)


def full(create: Create, count: int = 8, queue: str = "red") -> None:
    create(node("n1", "8"), *(p for i in range(count) for p in gang(f"r{i}", 1, 1, queue)))


def test_reclaim_by_annotations_alone(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule
) -> None:
    full(create)
    scheduler = schedule()
    wait_for(lambda: running(cluster, "r") == 8)
    create(*gang("b", 4, 4, "blue"))
    wait_for(lambda: running(cluster, "b-") == 4)
    assert len(scheduler.evictions) == 4
    assert {one.action for one in scheduler.evictions} == {"solve_reclaim"}
    assert running(cluster, "r") == 4

    def is_told() -> bool:
        events = cluster.get("/apis/events.k8s.io/v1/namespaces/x/events")["items"]
        notes = [e["note"] for e in events if e["reason"] == "Evicted"]
        return any("queue blue takes back room from queue red" in note for note in notes)

    wait_for(is_told)


def podgroup(group: str, version: str, name: str, queue: str, minimum: int) -> dict[str, Any]:
    return {
        "apiVersion": f"{group}/{version}",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "x"},
        "spec": {"queue": queue, "minMember": minimum},
    }


def members(annotation: str, name: str, count: int) -> list[dict[str, Any]]:
    return [pod(f"{name}-{i}", "x", annotations={annotation: name}) for i in range(count)]


def volcano_queue(name: str) -> dict[str, Any]:
    meta, spec = {"name": name}, {"weight": 1}
    return {"apiVersion": f"{VOLCANO}/v1beta1", "kind": "Queue", "metadata": meta, "spec": spec}


def kai_queue(name: str, parent: str = "") -> dict[str, Any]:
    share = {"quota": 4000, "limit": -1, "overQuotaWeight": 1}
    spec: dict[str, Any] = {"resources": {"cpu": share, "memory": {**share, "quota": -1}}}
    spec |= {"parentQueue": parent} if parent else {}
    meta = {"name": name}
    return {"apiVersion": f"{KAI}/v2", "kind": "Queue", "metadata": meta, "spec": spec}


@pytest.mark.long
def test_reclaim_with_volcanos_resources(
    cluster: ControlPlane, create: Create, crds: Crds, kubelet: Kubelet, schedule: Schedule
) -> None:
    crds(VOLCANO)
    version, mark = "v1beta1", "scheduling.k8s.io/group-name"
    create(node("n1", "8"), volcano_queue("red"), volcano_queue("blue"))
    create(podgroup(VOLCANO, version, "r", "red", 1), *members(mark, "r", 8))
    scheduler = schedule()
    wait_for(lambda: running(cluster, "r-") == 8)
    path = f"/apis/{VOLCANO}/{version}/namespaces/x/podgroups"
    wait_for(lambda: cluster.get(f"{path}/r").get("status", {}).get("phase") == "Running")
    create(podgroup(VOLCANO, version, "b", "blue", 4), *members(mark, "b", 4))
    wait_for(lambda: running(cluster, "b-") == 4)
    assert len(scheduler.evictions) == 4
    wait_for(lambda: cluster.get(f"{path}/b").get("status", {}).get("phase") == "Running")


@pytest.mark.long
def test_reclaim_with_kais_resources(
    cluster: ControlPlane, create: Create, crds: Crds, kubelet: Kubelet, schedule: Schedule
) -> None:
    crds(KAI)
    mark = "pod-group-name"

    create(node("n1", "8"), kai_queue("top"), *(kai_queue(name, "top") for name in ("red", "blue")))
    create(podgroup(KAI, "v2alpha2", "r", "red", 1), *members(mark, "r", 8))
    scheduler = schedule()
    wait_for(lambda: running(cluster, "r-") == 8)
    create(podgroup(KAI, "v2alpha2", "b", "blue", 4), *members(mark, "b", 4))
    wait_for(lambda: running(cluster, "b-") == 4)
    assert len(scheduler.evictions) == 4
    path = f"/apis/{KAI}/v2alpha2/namespaces/x/podgroups/b"
    wait_for(lambda: cluster.get(path).get("status", {}).get("phase") == "Running")


def budget(allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": "x"},
        "spec": {"minAvailable": 8, "selector": {"matchLabels": {"app": "r"}}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 8,
            "desiredHealthy": 8,
            "expectedPods": 8,
            "observedGeneration": 1,
        },
    }


@pytest.mark.long
@pytest.mark.parametrize("plugin", [True, False], ids=["pdb", "without pdb"])
def test_a_disruption_budget_that_forbids_is_obeyed(
    cluster: ControlPlane,
    create: Create,
    kubelet: Kubelet,
    schedule: Schedule,
    tmp_path: Path,
    plugin: bool,
) -> None:
    create(budget(0), node("n1", "8"))
    create(*(p for i in range(8) for p in gang(f"r{i}", 1, 1, "red", labels={"app": "r"})))
    scheduler = schedule() if plugin else schedule(policy=without_pdb(tmp_path))
    wait_for(lambda: running(cluster, "r") == 8)
    create(*gang("b", 4, 4, "blue"))
    wait_for(lambda: condition(cluster, "b-0").get("message"))
    if not plugin:
        wait_for(lambda: "disruption budget" in scheduler.reason("x/b"))
    cycles(scheduler, 4)
    assert running(cluster, "r") == 8
    assert scheduler.evictions == []
    assert placed(cluster, "b-") == {}
    assert not cluster.get(f"{PODS}/b-0")["status"].get("nominatedNodeName")
    if not plugin:
        assert "disruption budget" in scheduler.reason("x/b")
        wait_for(lambda: "disruption budget" in condition(cluster, "b-0").get("message", ""))


def without_pdb(folder: Path) -> Path:
    """The default policy without the plugin that knows budgets: the API server refuses then."""
    preset = Path(str(pumice.__file__)).parent / "presets" / "pumice.toml"
    path = folder / "policy.toml"
    path.write_text(preset.read_text().replace('    "pdb",\n', ""))
    return path


def test_a_dry_run_touches_nothing(
    cluster: ControlPlane, create: Create, schedule: Schedule
) -> None:
    create(node("n1", "8"), *gang("g", 2, 2), *gang("big", 1, 1, cpu="99"))
    version = cluster.get(PODS)["metadata"]["resourceVersion"]
    scheduler = schedule(dry_run=True)
    wait_for(lambda: len(scheduler.binds) >= 2)
    pods = cluster.get(PODS)["items"]
    assert all(int(p["metadata"]["resourceVersion"]) <= int(version) for p in pods)
    assert placed(cluster) == {}


def test_the_shipped_rights_are_the_least(cluster: ControlPlane) -> None:
    def refused(method: str, path: str, body: Any = None) -> bool:
        try:
            cluster.request(method, path, body, token="scheduler-token")
        except ApiRefusedError as error:
            return error.status == 403
        return False

    assert not refused("GET", "/api/v1/pods")
    assert refused("GET", "/api/v1/secrets")
    assert refused("GET", "/api/v1/configmaps")
    assert refused("DELETE", f"{PODS}/a")
    assert refused("POST", PODS, pod("a", "x"))
    assert refused("PATCH", "/api/v1/nodes/n1", {})
    lease = "/apis/coordination.k8s.io/v1/namespaces/x/leases/pumice"
    assert refused("GET", lease)
