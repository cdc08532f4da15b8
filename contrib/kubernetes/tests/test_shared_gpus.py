"""Shares of GPUs on a real API server: KAI's binder is asked, or the job is told why not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from _control_plane import ApiRefusedError, ControlPlane, Kubelet, wait_for
from _objects import node, pod
from conftest import is_served
from test_cluster import KAI, Crds, Create, Schedule, condition, cycles, placed, running

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes"), pytest.mark.long]
REQUESTS = f"/apis/{KAI}/v1alpha2/namespaces/x/bindrequests"
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bindrequests.{KAI}"


@pytest.fixture
def kai(cluster: ControlPlane, create: Create, crds: Crds) -> Iterator[None]:
    """KAI's kinds without BindRequest, a queue, and a node with one GPU."""
    crds(KAI)
    share = {"quota": -1, "limit": -1, "overQuotaWeight": 1}
    spec = {"resources": {"cpu": share, "memory": share, "gpu": share}}
    queue = {"apiVersion": f"{KAI}/v2", "kind": "Queue", "spec": spec}
    gpus = node("n1", "8", **{"nvidia.com/gpu.memory": "40000", "nvidia.com/gpu.count": "1"})
    gpus["status"]["capacity"] = {**gpus["status"]["capacity"], "nvidia.com/gpu": "1"}
    gpus["status"]["allocatable"] = gpus["status"]["capacity"]
    create({**queue, "metadata": {"name": "q"}}, gpus)
    yield
    with suppress(ApiRefusedError):
        cluster.request("DELETE", DEFINITION, {})
        wait_for(lambda: not is_served(cluster, REQUESTS))


def gang(annotations: dict[str, str], count: int) -> list[dict[str, Any]]:
    group = {
        "apiVersion": f"{KAI}/v2alpha2",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "x"},
        "spec": {"queue": "q", "minMember": count},
    }
    marks = {"pod-group-name": "g", **annotations}
    return [group, *(pod(f"g-{i}", "x", annotations=marks) for i in range(count))]


def requests(cluster: ControlPlane) -> dict[str, dict[str, Any]]:
    return {item["metadata"]["name"]: item for item in cluster.get(REQUESTS)["items"]}


def bind(cluster: ControlPlane, request: dict[str, Any]) -> None:
    """What KAI's binder does: mark the pod, bind it and report it."""
    name, spec = request["metadata"]["name"], request["spec"]
    path = f"/api/v1/namespaces/x/pods/{name}"
    labels = {"runai-gpu-group": spec["selectedGPUGroups"][0]}
    merge = "application/merge-patch+json"
    cluster.request("PATCH", path, {"metadata": {"labels": labels}}, kind=merge)
    target = {"kind": "Node", "name": spec["selectedNode"]}
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    cluster.request("POST", f"{path}/binding", body)
    status = {"status": {"phase": "Succeeded"}}
    cluster.request("PATCH", f"{REQUESTS}/{name}/status", status, kind=merge)


@pytest.mark.parametrize(
    "annotation, portion", [({"gpu-fraction": "0.5"}, "0.50"), ({"gpu-memory": "10000"}, "0.25")]
)
def test_kais_binder_is_asked_for_a_share_of_a_gpu(
    cluster: ControlPlane,
    create: Create,
    crds: Crds,
    kai: None,
    kubelet: Kubelet,
    schedule: Schedule,
    annotation: dict[str, str],
    portion: str,
) -> None:
    crds(KAI, without="")
    create(*gang(annotation, 2))
    scheduler = schedule()
    wait_for(lambda: len(requests(cluster)) == 2)
    cycles(scheduler, 3)
    assert len(scheduler.binds) == 2  # asked once, and counted as placed since
    assert placed(cluster) == {}
    made = requests(cluster)
    specs = [item["spec"] for item in made.values()]
    assert {spec["selectedNode"] for spec in specs} == {"n1"}
    assert {spec["receivedResourceType"] for spec in specs} == {"Fraction"}
    assert [spec["receivedGPU"] for spec in specs] == [{"count": 1, "portion": portion}] * 2
    assert specs[0]["selectedGPUGroups"] == specs[1]["selectedGPUGroups"]
    owner = made["g-0"]["metadata"]["ownerReferences"][0]
    assert owner["uid"] == cluster.get("/api/v1/namespaces/x/pods/g-0")["metadata"]["uid"]
    for item in made.values():
        bind(cluster, item)
    wait_for(lambda: running(cluster, "g-") == 2)
    assert len(scheduler.binds) == 2


def test_a_bind_request_that_failed_is_replaced(
    cluster: ControlPlane, create: Create, crds: Crds, kai: None, schedule: Schedule
) -> None:
    crds(KAI, without="")
    create(*gang({"gpu-fraction": "0.5"}, 1))
    scheduler = schedule()
    first = wait_for(lambda: requests(cluster).get("g-0"))
    cycles(scheduler, 2)
    failed = {"status": {"phase": "Failed", "reason": "no such device", "failedAttempts": 1}}
    merge = "application/merge-patch+json"
    cluster.request("PATCH", f"{REQUESTS}/g-0/status", failed, kind=merge)

    def replaced() -> bool:
        now = requests(cluster).get("g-0", first)
        return bool(now["metadata"]["uid"] != first["metadata"]["uid"])

    wait_for(replaced)


def test_without_the_binder_the_reason_says_so(
    cluster: ControlPlane, create: Create, kai: None, schedule: Schedule
) -> None:
    create(*gang({"gpu-fraction": "0.5"}, 2))
    scheduler = schedule()
    wait_for(partial(condition, cluster, "g-0"))
    wait_for(lambda: "bindrequests.scheduling.run.ai" in scheduler.reason("x/g"))
    assert scheduler.binds == []
    message = wait_for(lambda: condition(cluster, "g-0").get("message"))
    assert "KAI's binder" in message
