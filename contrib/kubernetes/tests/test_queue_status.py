"""The status of queues: what is counted, and that it is written only when it changes."""

from __future__ import annotations

from typing import Any

import pytest
from _control_plane import ControlPlane, Kubelet, wait_for
from _crds import OWN
from _objects import node
from test_cluster import VOLCANO, Crds, Create, Schedule, cycles, members, podgroup, running, settle

from pumice import Bind, Decisions, Eviction, JobState, Pod, Queue, Resource
from pumice_kubernetes.queue_status import QueueStatus, allocated_of

REQUEST = Resource(1500, 1 << 30, {"nvidia.com/gpu": 1000})


def a_pod(name: str, **more: Any) -> Pod:
    facts = {"group": "x/g", "phase": "Running", "node_name": "n1", "request": REQUEST, **more}
    return Pod(uid=name, name=name, namespace="x", **facts)


def decisions(phase: str = "Running", **more: Any) -> Decisions:
    return Decisions(jobs=[JobState("x/g", "red", phase, 1, 0, "")], **more)


QUEUES = {
    "top": Queue("top", api_group=OWN),
    "red": Queue("red", parent="top", api_group=OWN),
    "blue": Queue("blue", api_group=OWN),
}


def test_pods_with_a_node_are_counted_in_their_queue_and_those_above() -> None:
    pods = [
        a_pod("runs"),
        a_pod("bound", phase="Pending"),
        a_pod("is-bound-now", phase="Pending", node_name=""),
        a_pod("waits", phase="Pending", node_name=""),
        a_pod("goes", deleted=1.0),
        a_pod("is-evicted-now"),
        a_pod("done", phase="Succeeded"),
        a_pod("of-another-scheduler", group=""),
    ]
    made = decisions(
        binds=[Bind("x/is-bound-now", "is-bound-now", "n1")],
        evictions=[Eviction("x/is-evicted-now", "is-evicted-now", "n1", "a", "", "")],
    )
    totals = allocated_of(made, {pod.uid: pod for pod in pods}, QUEUES)
    assert sorted(totals) == ["red", "top"]
    for total in totals.values():
        assert (total.cpu, total.memory, total.get("nvidia.com/gpu")) == (4500, 3 << 30, 3000)


@pytest.mark.parametrize("root", [False, True])
def test_volcanos_queues_count_those_below_where_there_is_a_root(root: bool) -> None:
    queues = {name: Queue(name, parent=q.parent, api_group=VOLCANO) for name, q in QUEUES.items()}
    if root:
        queues["root"] = Queue("root", api_group=VOLCANO)
        queues["top"].parent = "root"
    totals = allocated_of(decisions(), {"a": a_pod("a")}, queues)
    assert sorted(totals) == (["red", "root", "top"] if root else ["red"])


def test_a_status_is_reported_when_it_changes() -> None:
    status = QueueStatus()
    queues = {**QUEUES, "kai": Queue("kai", family="kai", api_group="scheduling.run.ai")}

    def report(made: Decisions, seen: int, *pods: Pod) -> dict[str, dict[str, Any]]:
        listed = status.changed(made, {pod.uid: pod for pod in pods}, queues, seen)
        return {queue.name: content for queue, content in listed}

    amounts = {"cpu": "1500m", "memory": str(1 << 30), "nvidia.com/gpu": "1"}
    first = report(decisions(), 1, a_pod("a"))
    assert first["red"] == {"allocated": amounts, "running": 1, "pending": 0}
    assert first["top"] == {"allocated": amounts, "running": 0, "pending": 0}
    assert first["blue"] == {"allocated": {}, "running": 0, "pending": 0}
    assert "kai" not in first  # KAI's queue controller writes it
    assert report(decisions(), 1, a_pod("a")) == {}
    assert report(decisions(), 2, a_pod("a")) == {}
    assert list(report(decisions("Pending"), 3, a_pod("a"))) == ["red"]
    assert sorted(report(decisions("Pending"), 4)) == ["red", "top"]
    status.forget("red")
    assert list(report(decisions("Pending"), 4)) == ["red"]


@pytest.mark.kubernetes
@pytest.mark.long
@pytest.mark.xdist_group("kubernetes")
@pytest.mark.parametrize("api", [VOLCANO, OWN])
def test_the_status_of_a_queue_follows_its_pods(
    cluster: ControlPlane,
    create: Create,
    crds: Crds,
    kubelet: Kubelet,
    schedule: Schedule,
    api: str,
) -> None:
    crds(api)
    version = "v1alpha1" if api == OWN else "v1beta1"
    mark = "pumice/gang" if api == OWN else "scheduling.k8s.io/group-name"
    meta, spec = {"name": "red"}, {"weight": 1}
    create({"apiVersion": f"{api}/{version}", "kind": "Queue", "metadata": meta, "spec": spec})
    create(node("n1"), podgroup(api, version, "r", "red", 2), *members(mark, "r", 2))
    scheduler = schedule()
    path = f"/apis/{api}/{version}/queues/red"

    def status() -> dict[str, Any]:
        return dict(cluster.get(path).get("status") or {})

    wait_for(lambda: running(cluster, "r-") == 2)
    wait_for(lambda: status().get("allocated", {}).get("cpu") == "2")
    if api == OWN:
        wait_for(lambda: status().get("running") == 1)
    settle(scheduler)
    before = cluster.get(path)["metadata"]["resourceVersion"]
    cycles(scheduler, 3)
    assert cluster.get(path)["metadata"]["resourceVersion"] == before
    for name in ("r-0", "r-1"):
        cluster.request("DELETE", f"/api/v1/namespaces/x/pods/{name}", {"gracePeriodSeconds": 0})
    wait_for(lambda: "cpu" not in status()["allocated"])
