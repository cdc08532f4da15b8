"""Trouble around a scheduler on a real API server: it recovers, and the log says it once."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Any

import pytest
import yaml
from _control_plane import (
    DEPLOY,
    POWERLESS,
    ApiRefusedError,
    ControlPlane,
    Kubelet,
    wait_for,
)
from _objects import node
from conftest import is_served
from loguru import logger
from test_cluster import (
    PODS,
    VOLCANO,
    Crds,
    Create,
    Schedule,
    cycles,
    gang,
    members,
    placed,
    podgroup,
    reasons,
    running,
)

pytestmark = [pytest.mark.kubernetes, pytest.mark.xdist_group("kubernetes"), pytest.mark.long]
Log = Callable[[str], list[str]]


@pytest.fixture
def log() -> Iterator[Log]:
    """The lines of the log that begin with a text."""
    lines: list[str] = []
    sink = logger.add(lines.append, level="INFO", format="{message}")
    yield lambda text: [line.rstrip() for line in lines if line.startswith(text)]
    logger.remove(sink)


def outage_is_told_once(log: Log) -> None:
    assert len(log("the API server does not answer")) == 1
    assert len(log("the API server answers again")) == 1
    # Pods that could not be bound meanwhile are bound by a later cycle.
    told = [line for line in log("") if not line.startswith("bind ")]
    assert len(told) == len(set(told))


def test_a_pod_that_another_scheduler_binds_meanwhile_is_bound_once(
    cluster: ControlPlane, create: Create, schedule: Schedule, log: Log
) -> None:
    create(node("n1", "8"), node("n2", "8"))
    scheduler = schedule()
    cycles(scheduler, 1)
    send = scheduler.backend._thread.actor._client.request

    async def late(method: str, path: str, body: Any = None, **more: Any) -> bytes:
        if path.endswith("/g-0/binding"):
            other = {"metadata": {"name": "g-0"}, "target": {"kind": "Node", "name": "n2"}}
            cluster.request("POST", path, {"apiVersion": "v1", "kind": "Binding", **other})
        return await send(method, path, body, **more)

    scheduler.backend._thread.actor._client.request = late  # type: ignore[method-assign]
    create(*gang("g", 2, 1))
    wait_for(lambda: len(placed(cluster)) == 2)
    assert placed(cluster)["g-0"] == "n2"
    assert any("bound or replaced meanwhile" in reason for reason in reasons(scheduler))
    assert [bind.task for bind in scheduler.binds] == ["x/g-1"]
    (line,) = log("x/g")
    assert "x/g-0 was not bound to" in line
    assert "bound or replaced meanwhile" in line


def test_the_api_server_is_killed_and_comes_back(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule, log: Log
) -> None:
    create(node("n1", "8"), *gang("g", 2, 2))
    scheduler = schedule()
    wait_for(lambda: running(cluster, "g-") == 2)
    cluster.kill_server()
    cycles(scheduler, 2)
    cluster.start_server()
    create(*gang("h", 2, 2))
    wait_for(lambda: running(cluster, "h-") == 2, 60)
    assert len(scheduler.binds) == 4
    outage_is_told_once(log)


def test_the_api_server_is_killed_while_a_gang_is_bound(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule, log: Log
) -> None:
    create(node("n1", "8"))
    scheduler = schedule(in_flight=1)
    cycles(scheduler, 1)
    client = scheduler.backend._thread.actor._client
    send, sent = client.request, 0

    async def fatal(method: str, path: str, body: Any = None, **more: Any) -> bytes:
        nonlocal sent
        if path.endswith("/binding"):
            sent += 1
            if sent == 4:
                cluster.kill_server()
        return await send(method, path, body, **more)

    client.request = fatal  # type: ignore[method-assign]
    create(*gang("g", 8, 8))
    wait_for(lambda: any("no answer of the API server" in r for r in reasons(scheduler)))
    cluster.start_server()
    wait_for(lambda: running(cluster, "g-") == 8, 60)
    tasks = [bind.task for bind in scheduler.binds]
    assert len(tasks) == len(set(tasks))
    outage_is_told_once(log)
    # An API server that has not read its roles yet forbids everything.
    assert len([line for line in log("x/g") if "forbidden" not in line]) == 1


def test_a_watch_that_has_expired(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule, log: Log
) -> None:
    create(node("n1", "8"), *gang("g", 2, 2))
    scheduler = schedule()
    wait_for(lambda: running(cluster, "g-") == 2)
    # The changes of the pods, so that their watch is at an old version after the restart.
    thread = scheduler.backend._thread
    reflector = next(r for res, (r, _) in thread._reflectors.items() if res.kind == "Pod")
    old, expired = reflector._version, reflector.expired
    pods = scheduler.backend.store.tables["pods"]
    create(*gang("h", 2, 2, scheduler="nobody"))
    wait_for(lambda: {"h-0", "h-1"} <= {pod.name for pod in list(pods.values())})
    cluster.compact()
    cluster.kill_server()
    reflector._version = old
    cluster.start_server()
    cluster.request("DELETE", f"{PODS}/g-0", {"gracePeriodSeconds": 0})
    create(*gang("i", 2, 2))
    wait_for(lambda: running(cluster, "i-") == 2, 60)
    assert reflector.expired > expired
    assert log("pods: the watch has expired") == ["pods: the watch has expired, listing again"]
    outage_is_told_once(log)
    assert {p.name for p in scheduler.backend.snapshot().pods.values()} >= {"g-1", "h-0", "i-0"}


def test_resources_that_are_served_later_are_read(
    cluster: ControlPlane, create: Create, crds: Crds, schedule: Schedule, log: Log
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for plural in ("queues", "podgroups"):
        with suppress(ApiRefusedError):  # an earlier test may have left it
            cluster.request("DELETE", f"{definitions}/{plural}.{VOLCANO}", {})
    wait_for(lambda: not is_served(cluster, f"/apis/{VOLCANO}/v1beta1/queues"))
    wait_for(lambda: not is_served(cluster, f"/apis/{VOLCANO}/v1beta1/podgroups"))
    create(node("n1", "8"), *members("scheduling.k8s.io/group-name", "g", 2))
    scheduler = schedule()
    cycles(scheduler, 2)
    assert placed(cluster) == {}  # nobody knows their group
    crds(VOLCANO)
    queue = {"apiVersion": f"{VOLCANO}/v1beta1", "kind": "Queue", "metadata": {"name": "late"}}
    create({**queue, "spec": {"weight": 1}}, podgroup(VOLCANO, "v1beta1", "g", "late", 2))
    wait_for(lambda: len(placed(cluster)) == 2)
    assert len(log(f"queues.{VOLCANO} is served from now on")) == 1
    assert len(log(f"podgroups.{VOLCANO} is served from now on")) == 1
    cluster.request("DELETE", f"{definitions}/queues.{VOLCANO}", {})
    wait_for(lambda: "late" not in scheduler.backend.store.tables["queues"])
    wait_for(lambda: len(log(f"queues.{VOLCANO} is no longer served")) == 1)


def bind_role(create: Create, role: str) -> None:
    """Give the identity without rights those of a role."""
    group = "rbac.authorization.k8s.io"
    create(
        {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"late-{role}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": "powerless"}],
        }
    )


def test_rights_that_are_given_later(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule, log: Log
) -> None:
    everything = yaml.safe_load_all((DEPLOY / "rbac.yaml").read_text())
    shipped = next(item for item in everything if item["kind"] == "ClusterRole")
    rules = [rule for rule in shipped["rules"] if "pods/binding" not in rule["resources"]]
    # Now, because a refusal that misses the role would be another one in the log.
    create({**shipped, "metadata": {"name": "no-binds"}, "rules": rules})
    create(node("n1", "8"), *gang("g", 2, 2))
    scheduler = schedule(token=POWERLESS)
    wait_for(lambda: log("pods cannot be read"))
    time.sleep(2)
    assert scheduler.history == []  # nothing is decided as long as pods are unknown
    bind_role(create, "no-binds")
    wait_for(lambda: "pods/binding" in scheduler.reason("x/g"), 60)
    cycles(scheduler, 3)
    assert placed(cluster) == {}
    bind_role(create, "pumice-scheduler")
    wait_for(lambda: running(cluster, "g-") == 2, 60)
    assert len(log("pods cannot be read")) == 1
    assert len(log("x/g: ")) == 1


def test_events_that_come_late_and_twice(
    cluster: ControlPlane, create: Create, kubelet: Kubelet, schedule: Schedule, log: Log
) -> None:
    create(node("n1", "8"))
    scheduler = schedule()
    cycles(scheduler, 1)
    client = scheduler.backend._thread.actor._client
    watch, late = client.watch, 0

    async def disordered(path: str, version: str, seconds: int) -> AsyncIterator[Any]:
        """Each event of a pod twice, and the one before it once more after it."""
        nonlocal late
        last = None
        async for event in watch(path, version, seconds):
            for one in (event, event, last):
                if one is not None:
                    yield one
            late += last is not None
            last = event if path.endswith("/pods") and event.type != "BOOKMARK" else None

    client.watch = disordered  # type: ignore[method-assign]
    cluster.kill_server()  # all watches begin again
    cluster.start_server()
    for number in range(3):
        name = f"g{number}"
        create(*gang(name, 4, 4))
        wait_for(lambda name=name: running(cluster, f"{name}-") == 4, 60)  # type: ignore[misc]
        for item in gang(name, 4, 4):
            path = f"{PODS}/{item['metadata']['name']}"
            cluster.request("DELETE", path, {"gracePeriodSeconds": 0})
    create(*gang("last", 8, 8))
    wait_for(lambda: running(cluster, "last-") == 8, 60)
    tasks = [bind.task for bind in scheduler.binds]
    assert len(tasks) == len(set(tasks)) == 20
    assert late > 20
    wait_for(lambda: len(scheduler.backend.snapshot().pods) == 8)  # no deleted pod is back
    assert log("x/") == []
