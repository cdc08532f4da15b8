"""The command itself against a real API server: take-over, pages, dump and what is deployed."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from _control_plane import (
    ApiRefusedError,
    ControlPlane,
    Kubelet,
    free_ports,
    wait_for,
)
from _objects import node, pod
from test_cluster import PODS, full, gang, placed, running

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes"), pytest.mark.long]
LEASE = "/apis/coordination.k8s.io/v1/namespaces/pumice-system/leases/pumice"
PUMICE = str(Path(sys.executable).parent / "pumice")
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(cluster: ControlPlane, tmp_path: Path) -> Iterator[Start]:
    """Starts ``pumice run`` as a process of its own."""
    config = cluster.kubeconfig(tmp_path / "kubeconfig")
    started: list[subprocess.Popen[str]] = []

    def run(*settings: str, options: Sequence[str] = ()) -> subprocess.Popen[str]:
        command = [PUMICE, "-v", "run", "--backend", "kubernetes", "-o", "jsonl", *options]
        command += ["--set", "scheduler.period=0.1"]
        for setting in (f"kubeconfig={config}", "lease_duration=3", "idle=1", "quiet=1", *settings):
            command += ["--backend-set", setting]
        log = open(tmp_path / f"log-{len(started)}", "w+")  # noqa: SIM115 # read at the end
        started.append(subprocess.Popen(command, stdout=log, stderr=log, text=True))
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait()
    with suppress(ApiRefusedError):
        cluster.request("DELETE", LEASE)


def holder(cluster: ControlPlane) -> str:
    try:
        return str(cluster.get(LEASE)["spec"].get("holderIdentity") or "")
    except ApiRefusedError:
        return ""


def bindings(cluster: ControlPlane) -> dict[str, int]:
    """How often each pod was bound, by the events."""
    counts: dict[str, int] = {}
    for event in cluster.get("/apis/events.k8s.io/v1/namespaces/x/events")["items"]:
        if event["reason"] == "Scheduled":
            name = event["regarding"]["uid"]
            counts[name] = counts.get(name, 0) + 1
    return counts


def test_the_leader_is_killed_between_eviction_and_bind(
    cluster: ControlPlane, create: Any, kubelet: Kubelet, start: Start
) -> None:
    kubelet.paused.set()  # victims stay until the leader is dead
    full(create)
    leader = start()
    wait_for(lambda: running(cluster, "r") == 8, 60)
    first = wait_for(lambda: holder(cluster))
    standby = start()
    create(*gang("b", 4, 4, "blue"))

    def leaving() -> list[str]:
        items = cluster.get(PODS)["items"]
        return [i["metadata"]["name"] for i in items if i["metadata"].get("deletionTimestamp")]

    wait_for(lambda: len(leaving()) == 4)
    nominated = f"{PODS}/b-0"
    wait_for(lambda: cluster.get(nominated)["status"].get("nominatedNodeName") == "n1")
    leader.send_signal(signal.SIGKILL)
    leader.wait()
    victims = leaving()
    kubelet.paused.clear()
    wait_for(lambda: holder(cluster) not in ("", first), 60)
    wait_for(lambda: running(cluster, "b-") == 4, 60)
    assert running(cluster, "r") == 4
    assert len(victims) == 4  # the standby evicts nobody else
    assert standby.poll() is None
    counts = bindings(cluster)
    assert all(count == 1 for count in counts.values())


def test_pages_and_a_graceful_end(
    cluster: ControlPlane, create: Any, kubelet: Kubelet, start: Start
) -> None:
    (port,) = free_ports(1)
    create(node("n1", "8"), *gang("g", 2, 2))
    process = start(f"listen=127.0.0.1:{port}")

    def page(name: str) -> str:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{name}", timeout=5) as answer:
                return str(answer.read().decode())
        except (urllib.error.URLError, OSError):
            return ""

    wait_for(lambda: page("readyz") == "ok", 60)
    assert page("healthz") == "ok"
    wait_for(lambda: running(cluster, "g-") == 2)
    wait_for(lambda: 'pumice_binds_total{result="bound"} 2.0' in page("metrics"))
    assert "pumice_leader 1.0" in page("metrics")
    assert re.search(r"pumice_cycle_seconds_count [1-9]", page("metrics"))
    assert holder(cluster)
    process.terminate()
    assert process.wait(30) == 0
    assert holder(cluster) == ""


def test_the_page_shows_the_live_cluster(
    cluster: ControlPlane, create: Any, kubelet: Kubelet, start: Start
) -> None:
    (port,) = free_ports(1)
    create(node("n1", "8"), *gang("g", 2, 2, "red"), *gang("big", 1, 1, "blue", cpu="99"))
    start(options=["--serve", f"127.0.0.1:{port}"])

    def page(path: str) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                text = answer.read().decode()
        except (urllib.error.URLError, OSError):
            return {}
        return json.loads(text) if path.startswith("/api/") else text

    def phases() -> dict[str, str]:
        return {row["job"]: row["phase"] for row in page("/api/jobs").get("rows", ())}

    wait_for(lambda: phases().get("x/g") == "Running", 60)
    assert "<html" in page("/")
    assert page("/api/about")["live"] is True
    assert {row["queue"] for row in page("/api/queues?resource=cpu")["rows"]} >= {"blue", "red"}
    assert {task["task"] for task in page("/api/node/n1")["rows"]} == {"x/g-0", "x/g-1"}
    assert page("/api/explain/x/big")["verdict"] == "never"
    before = page("/api/cycles")["rows"][-1]["cycle"]
    create(*gang("h", 1, 1, "red"))
    wait_for(lambda: phases().get("x/h") == "Running")
    assert page("/api/cycles")["rows"][-1]["cycle"] > before


def test_a_dump_is_scheduled_as_the_cluster_is(
    cluster: ControlPlane, create: Any, tmp_path: Path
) -> None:
    secret = pod("a", "x")
    secret["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": "hunter2"}]
    create(node("n1", "8"), secret)
    config = cluster.kubeconfig(tmp_path / "kubeconfig")
    command = [PUMICE, "dump", "-o", "out.json", "--backend-set", f"kubeconfig={config}"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out.json").read_text()
    assert "hunter2" not in text
    assert "managedFields" not in text
    kinds = {item["kind"] for item in json.loads(text)["items"]}
    assert {"Node", "Pod", "PriorityClass"} <= kinds
    command = [PUMICE, "run", "out.json", "-o", "json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    (bind,) = json.loads(done.stdout)["cycles"][0]["binds"]
    assert (bind["task"], bind["node"]) == ("x/a", "n1")
    assert placed(cluster) == {}
