"""``pumice shadow`` beside a scheduler in charge that binds pods its own way."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _control_plane import ApiRefusedError, ControlPlane, Kubelet, wait_for
from _objects import node, pod
from _process import PumiceProcess
from test_cluster import PODS, gang, placed, running

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes"), pytest.mark.long]
LEASES = "/apis/coordination.k8s.io/v1/namespaces/pumice-system/leases"
Create = Callable[..., list[Any]]


class InCharge:
    """A scheduler that binds every pod of its own to one node, once it is let."""

    def __init__(self, plane: ControlPlane, target: str) -> None:
        self._plane = plane
        self._target = target
        self._stop = threading.Event()
        self.allowed = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            if self.allowed.is_set():
                for item in self._plane.get(PODS)["items"]:
                    if not item["spec"].get("nodeName"):
                        self._bind(item["metadata"]["name"])

    def _bind(self, name: str) -> None:
        body = {"metadata": {"name": name}, "target": {"kind": "Node", "name": self._target}}
        with suppress(ApiRefusedError):
            self._plane.request("POST", f"{PODS}/{name}/binding", body)

    def stop(self) -> None:
        self._stop.set()
        self._thread.join()


@pytest.fixture
def in_charge(cluster: ControlPlane) -> Iterator[InCharge]:
    one = InCharge(cluster, "n2")
    yield one
    one.stop()


@pytest.fixture
def shadow(cluster: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Starts ``pumice shadow``; called again it ends it and returns what it has printed."""
    config = cluster.kubeconfig(tmp_path / "kubeconfig")
    output = tmp_path / "shadow.json"
    started: list[PumiceProcess] = []

    def call(*options: str) -> Any:
        if started:
            assert started.pop().stop() == 0
            return json.loads(output.read_text())
        with output.open("w") as file:
            command = ("shadow", "-o", "json", "--set", "scheduler.period=0.2", *options)
            started.append(PumiceProcess(config, "idle=1", "quiet=1", command=command, output=file))
        return started[0]

    yield call
    for one in started:
        one.stop()


def more_cycles(process: PumiceProcess) -> None:
    """Let it see all that has happened: without a change cycles are a second apart."""
    start = process.cycles
    wait_for(lambda: process.cycles >= start + 4, 60)


def test_pods_that_are_bound_later_and_elsewhere(
    cluster: ControlPlane, create: Create, in_charge: InCharge, shadow: Callable[..., Any]
) -> None:
    # n1 is the only node with room for the pods, as Pumice sees it: n2 is cordoned.
    cordoned = node("n2", "8")
    cordoned["spec"] = {"unschedulable": True}
    create(node("n1", "8"), cordoned, *(pod(f"p{i}", "x", scheduler="old") for i in range(3)))
    leases = cluster.get(LEASES)["items"]
    process = shadow("--scheduler", "old")
    wait_for(lambda: process.cycles >= 1, 60)
    wait_for(lambda: process.metric('pumice_pending_tasks{queue="default"}') == 0, 30)
    start = process.cycles
    wait_for(lambda: process.cycles >= start + 2, 60)
    in_charge.allowed.set()
    wait_for(lambda: len(placed(cluster)) == 3)
    more_cycles(process)
    assert set(placed(cluster).values()) == {"n2"}
    report = shadow()
    summary = report["summary"]
    assert (summary["bound"], summary["other_node"], summary["same"]) == (3, 3, 0)
    assert summary["wait"]["shadow"] < summary["wait"]["actual"]
    moved = [one for cycle in report["cycles"] for one in cycle["bound"]]
    assert {(one["task"], one["node"], one["shadow_node"]) for one in moved} == {
        (f"x/p{i}", "n2", "n1") for i in range(3)
    }
    assert all(one["seconds"] > 0 for one in moved)
    assert 0 < summary["utilisation"]["cpu"]["actual"] < summary["utilisation"]["cpu"]["shadow"]
    # Nothing was touched: no condition but those of the bind, no event, no Lease.
    events = cluster.get("/apis/events.k8s.io/v1/namespaces/x/events")["items"]
    assert not [one for one in events if one["regarding"]["name"] in ("p0", "p1", "p2")]
    assert all(not item["status"].get("nominatedNodeName") for item in cluster.get(PODS)["items"])
    assert cluster.get(LEASES)["items"] == leases


def test_a_gang_that_pumice_would_hold_back_and_evictions_it_would_make(
    cluster: ControlPlane,
    create: Create,
    kubelet: Kubelet,
    in_charge: InCharge,
    shadow: Callable[..., Any],
) -> None:
    create(node("n2", "4"), *(p for i in range(4) for p in gang(f"r{i}", 1, 1, "red")))
    in_charge.allowed.set()
    wait_for(lambda: running(cluster, "r") == 4)
    in_charge.allowed.clear()
    process = shadow("--scheduler", "pumice")
    wait_for(lambda: process.cycles >= 1, 60)
    create(*gang("big", 8, 8, "red"), *gang("b", 2, 2, "blue"))
    more_cycles(process)
    for i in range(8):
        in_charge._bind(f"big-{i}")
    more_cycles(process)
    report = shadow()
    summary = report["summary"]
    assert (summary["bound"], summary["waits"]) == (8, 8)
    held_back = [one for cycle in report["cycles"] for one in cycle["bound"]]
    assert all(one["outcome"] == "waits" and one["reason"] for one in held_back)
    evicted = [one for cycle in report["cycles"] for one in cycle["would_evict"]]
    assert {one["for"] for one in evicted} >= {"x/b"}
    assert summary["would_evict"] >= 2
    assert summary["evicted"] == 0
    assert running(cluster, "r") == 4


def test_evictions_of_the_scheduler_in_charge_are_counted(
    cluster: ControlPlane,
    create: Create,
    kubelet: Kubelet,
    in_charge: InCharge,
    shadow: Callable[..., Any],
) -> None:
    kubelet.paused.set()  # an evicted pod stays until a cycle has seen it
    create(node("n2", "4"), pod("a", "x"), pod("b", "x"))
    in_charge.allowed.set()
    wait_for(lambda: running(cluster, "") == 2)
    process = shadow("--scheduler", "pumice")
    wait_for(lambda: process.cycles >= 1, 60)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction"}
    eviction["metadata"] = {"name": "a", "namespace": "x"}  # type: ignore[assignment]
    cluster.request("POST", f"{PODS}/a/eviction", eviction)
    more_cycles(process)
    report = shadow()
    assert report["summary"]["evicted"] == 1
    assert [task for cycle in report["cycles"] for task in cycle["evicted"]] == ["x/a"]
    kubelet.paused.clear()
