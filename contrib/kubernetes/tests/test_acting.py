"""Carrying decisions out against an API server in memory: what it refuses is rolled back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from _fake_api import FakeApi, fake_api, until
from _objects import pod
from test_inventory import NOW, World

from pumice import (
    Bind,
    Decisions,
    Eviction,
    EvictionLog,
    JobState,
    PastEviction,
    PipelinedTask,
    Reservation,
    ReservedTask,
)
from pumice_kubernetes.acting import Actor
from pumice_kubernetes.metrics import Metrics

OK: tuple[int, Any] = (201, {"status": "Success"})
BUDGET = {
    "code": 429,
    "reason": "TooManyRequests",
    "message": "Cannot evict pod as it would violate the pod's disruption budget.",
    "details": {"causes": [{"message": "The disruption budget all needs 8 healthy pods."}]},
}


def binding(name: str) -> tuple[str, str]:
    return "POST", f"/api/v1/namespaces/x/pods/{name}/binding"


def eviction(name: str) -> tuple[str, str]:
    return "POST", f"/api/v1/namespaces/x/pods/{name}/eviction"


def carry_out(
    world: World,
    decisions: Decisions,
    prepare: Callable[[FakeApi], None],
    *,
    leader: bool = True,
    times: int = 1,
) -> FakeApi:
    async def run() -> FakeApi:
        async with fake_api() as (api, client):
            prepare(api)
            actor = Actor(client, world.store, world.live, Metrics())
            for _ in range(times):
                await actor.carry_out(decisions, NOW, lambda: leader)
            return api

    return asyncio.run(run())


@pytest.fixture
def world() -> World:
    made = World()
    for name in ("v1", "v2"):
        made.put(pod(name, "x", nodeName="n1"))
    for name in ("a", "b"):
        made.put(pod(name, "x", annotations={"pumice/gang": "g"}))
    made.snapshot()
    return made


def waiting() -> list[JobState]:
    return [JobState("x/g", "default", "Inqueue", 0, 2, "it waits")]


def binds() -> Decisions:
    chosen = [Bind(f"x/{name}", f"uid-{name}", "n1") for name in "ab"]
    return Decisions(binds=chosen, jobs=waiting())


@pytest.mark.parametrize(
    "status, text",
    [(409, "bound or replaced meanwhile: taken"), (404, "the pod is gone"), (403, "taken (403)")],
)
def test_a_refused_bind_is_taken_out_and_in_the_reason(
    world: World, status: int, text: str
) -> None:
    def prepare(api: FakeApi) -> None:
        api.answers[binding("a")] = lambda _: OK
        api.answers[binding("b")] = lambda _: (status, {"code": status, "message": "taken"})

    decisions = binds()
    carry_out(world, decisions, prepare)
    assert [bind.task for bind in decisions.binds] == ["x/a"]
    assert decisions.jobs[0].reason.startswith("x/b was not bound to n1: ")
    assert text in decisions.jobs[0].reason
    pods = world.snapshot().pods
    assert (pods["uid-a"].node_name, pods["uid-b"].node_name) == ("n1", "")


def test_a_bind_names_the_uid_and_the_annotations(world: World) -> None:
    decisions = Decisions(binds=[Bind("x/a", "uid-a", "n1", {"k": "v"})])
    ((_, path, sent),) = carry_out(world, decisions, lambda api: None).requests
    assert path == binding("a")[1]
    assert sent["metadata"] == {"name": "a", "uid": "uid-a", "annotations": {"k": "v"}}
    assert sent["target"] == {"kind": "Node", "name": "n1"}


def test_a_gang_with_a_shared_gpu_is_refused_as_a_whole(world: World) -> None:
    decisions = binds()
    decisions.binds[0] = Bind("x/a", "uid-a", "n1", gpu_groups=("0",))
    api = carry_out(world, decisions, lambda api: None)
    assert not decisions.binds
    assert not api.requests
    assert "shares a GPU" in decisions.jobs[0].reason


def plan() -> Decisions:
    held = Reservation("x/g", (ReservedTask("uid-a", "n1"), ReservedTask("uid-b", "n1")), NOW + 300)
    past = PastEviction("x/g", "x/pod-v1", NOW)
    return Decisions(
        evictions=[
            Eviction(f"x/{v}", f"uid-{v}", "n1", "solve_reclaim", "x/g", "why")
            for v in ("v1", "v2", "v1")
        ],
        pipelined=[PipelinedTask(f"x/{name}", f"uid-{name}", "n1", True) for name in "ab"],
        jobs=waiting(),
        eviction_log=EvictionLog({"x/g": held}, (past,)),
    )


def test_a_plan_that_is_accepted_is_tried_and_then_carried_out(world: World) -> None:
    def prepare(api: FakeApi) -> None:
        for name in ("v1", "v2"):
            api.answers[eviction(name)] = lambda _: OK

    decisions = plan()
    api = carry_out(world, decisions, prepare)
    dry = [bool(body["deleteOptions"].get("dryRun")) for _, _, body in api.requests]
    assert dry == [True, True, False, False]
    assert [one.task for one in decisions.evictions] == ["x/v1", "x/v2"]
    inventory = world.snapshot()
    assert inventory.pods["uid-v1"].deleted == NOW
    assert inventory.eviction_log is decisions.eviction_log
    assert decisions.eviction_log.reservations


def test_a_budget_that_forbids_one_eviction_spares_all_of_the_plan(world: World) -> None:
    def prepare(api: FakeApi) -> None:
        api.answers[eviction("v1")] = lambda _: OK
        api.answers[eviction("v2")] = lambda _: (429, BUDGET)

    decisions = plan()
    api = carry_out(world, decisions, prepare)
    assert all(body["deleteOptions"]["dryRun"] for _, _, body in api.requests)
    assert not decisions.evictions
    assert not decisions.pipelined
    assert not decisions.eviction_log
    reason = decisions.jobs[0].reason
    assert reason.startswith("solve_reclaim evicts nothing for it: x/v2 is not evicted")
    assert "The disruption budget all needs 8 healthy pods." in reason
    assert world.snapshot().pods["uid-v1"].deleted is None


def test_a_refused_eviction_is_not_sent_again_at_once(world: World) -> None:
    def prepare(api: FakeApi) -> None:
        api.answers[eviction("v1")] = lambda _: OK
        api.answers[eviction("v2")] = lambda _: (429, BUDGET)

    async def run() -> None:
        async with fake_api() as (api, client):
            prepare(api)
            actor = Actor(client, world.store, world.live, Metrics())
            for number in range(2):
                decisions = plan()
                await actor.carry_out(decisions, NOW + number / 10, lambda: True)
                assert "disruption budget" in decisions.jobs[0].reason
            refused = [path for _, path, _ in api.requests if "/v2/" in path]
            assert len(refused) == 1
            await actor.carry_out(plan(), NOW + 10, lambda: True)
            assert len([path for _, path, _ in api.requests if "/v2/" in path]) == 2

    asyncio.run(run())


def test_a_victim_that_is_gone_already_is_no_refusal(world: World) -> None:
    def prepare(api: FakeApi) -> None:
        api.answers[eviction("v1")] = lambda _: (404, {"code": 404, "message": "not found"})
        api.answers[eviction("v2")] = lambda _: OK

    decisions = plan()
    carry_out(world, decisions, prepare)
    assert len(decisions.evictions) == 2
    assert decisions.jobs[0].reason == "it waits"


def test_who_has_lost_the_lease_does_nothing(world: World) -> None:
    decisions = plan()
    decisions.binds = binds().binds
    api = carry_out(world, decisions, lambda api: None, leader=False)
    assert not api.requests
    assert [decisions.binds, decisions.evictions, decisions.pipelined] == [[], [], []]


def many_binds(world: World, count: int) -> Decisions:
    for i in range(count):
        world.put(pod(f"m{i}", "x"))
    world.snapshot()
    return Decisions(binds=[Bind(f"x/m{i}", f"uid-m{i}", "n1") for i in range(count)])


def test_who_loses_the_lease_meanwhile_sends_no_more_binds(world: World) -> None:
    async def run() -> tuple[Decisions, int]:
        async with fake_api() as (api, client):
            decisions = many_binds(world, 300)
            for i in range(300):
                api.answers[binding(f"m{i}")] = lambda _: OK
            actor = Actor(client, world.store, world.live, Metrics())
            await actor.carry_out(decisions, NOW, lambda: len(api.requests) < 100)
            return decisions, len(api.requests)

    decisions, sent = asyncio.run(run())
    assert 100 <= sent < 300
    assert len(decisions.binds) == sent


def test_a_renewal_of_the_lease_does_not_wait_for_all_binds(world: World) -> None:
    async def run() -> int:
        async with fake_api() as (api, client):
            decisions = many_binds(world, 1000)
            for i in range(1000):
                api.answers[binding(f"m{i}")] = lambda _: OK
            api.answers["GET", "/lease"] = lambda _: (200, {})
            actor = Actor(client, world.store, world.live, Metrics())
            binds = asyncio.create_task(actor.carry_out(decisions, NOW, lambda: True))
            await until(lambda: len(api.requests) > 0)
            await client.get("/lease")
            before = len(api.requests)
            await binds
            return before

    assert asyncio.run(run()) < 500
