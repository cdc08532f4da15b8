"""Following a resource: list, watch, resume, expiry, and what goes wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from _fake_api import FakeApi, fake_api, until
from _objects import pod

from pumice_kubernetes.client import Client
from pumice_kubernetes.reflector import Backoff, Reflector
from pumice_kubernetes.resources import Resource, Served
from pumice_kubernetes.store import Store

PODS = Served(Resource("", "pods", "Pod"), "v1")
PATH = "/api/v1/pods"


@asynccontextmanager
async def following(client: Client) -> AsyncIterator[tuple[Store, Reflector]]:
    store = Store(["pumice"])

    async def soon(_: float) -> None:
        await asyncio.sleep(0.01)

    reflector = Reflector(client, PODS, store, sleep=soon)
    task = asyncio.create_task(reflector.run())
    try:
        await asyncio.wait_for(reflector.synced.wait(), 10)
        yield store, reflector
    finally:
        task.cancel()


def names(store: Store) -> set[str]:
    return {pod.name for pod in store.tables["pods"].values()}


def add(api: FakeApi, name: str, **more: Any) -> None:
    api.put(PATH, pod(name, "x", **more))


def test_it_lists_and_then_watches() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            add(api, "a")
            async with following(client) as (store, reflector):
                assert names(store) == {"a"}
                add(api, "b")
                await until(lambda: names(store) == {"a", "b"})
                api.delete(PATH, "x/a")
                await until(lambda: names(store) == {"b"})
                assert reflector.relists == 1

    asyncio.run(run())


def test_an_expired_watch_lists_again_and_keeps_what_has_not_changed() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            for name in "abc":
                add(api, name)
            async with following(client) as (store, reflector):
                before = dict(store.tables["pods"])
                api.log.clear()  # nobody sees the next changes
                api.version += 10
                api.objects[PATH].pop("x/a")
                changed = pod("b", "x", cpu="2")
                changed["metadata"] |= {"uid": "uid-b", "resourceVersion": str(api.version)}
                api.objects[PATH]["x/b"] = changed
                api.oldest = api.version
                api.wake()
                await until(lambda: reflector.relists == 2)
                pods = store.tables["pods"]
                assert names(store) == {"b", "c"}
                assert pods["uid-c"] is before["uid-c"]
                assert pods["uid-b"] is not before["uid-b"]
                assert pods["uid-b"].request.cpu == 2000

    asyncio.run(run())


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_list_that_fails_is_tried_again(status: int) -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            add(api, "a")
            failures = 0

            def fail(_: Any) -> tuple[int, Any]:
                nonlocal failures
                failures += 1
                if failures == 3:
                    del api.answers["GET", PATH]
                return status, {"code": status, "message": "not now"}

            api.answers["GET", PATH] = fail
            async with following(client) as (store, _):
                assert names(store) == {"a"}
                assert failures == 3

    asyncio.run(run())


def test_what_may_not_be_read_does_not_hold_up_the_start() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            api.answers["GET", PATH] = lambda _: (403, {"code": 403, "message": "forbidden"})
            async with following(client) as (store, _):
                assert not names(store)
                add(api, "a")
                del api.answers["GET", PATH]
                await until(lambda: names(store) == {"a"})

    asyncio.run(run())


def test_a_refusal_while_the_server_starts_costs_no_new_list() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            add(api, "a")
            async with following(client) as (store, reflector):
                refusals = 0

                def refuse(_: Any) -> tuple[int, Any]:
                    nonlocal refusals
                    refusals += 1
                    if refusals == 2:
                        del api.answers["GET", PATH]
                    return 403, {"code": 403, "message": "the rights are not loaded yet"}

                await until(lambda: bool(api.watching))
                api.answers["GET", PATH] = refuse
                api.end_watches()
                await until(lambda: refusals == 2)
                add(api, "b")
                await until(lambda: names(store) == {"a", "b"})
                assert reflector.relists == 1

    asyncio.run(run())


def test_nothing_is_scheduled_while_the_pods_may_not_be_read() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            api.answers["GET", PATH] = lambda _: (403, {"code": 403, "message": "forbidden"})
            served = Served(Resource("", "pods", "Pod", required=True), "v1")
            reflector = Reflector(client, served, Store(["pumice"]))
            task = asyncio.create_task(reflector.run())
            await until(lambda: len(api.requests) >= 2)
            assert not reflector.synced.is_set()
            task.cancel()

    asyncio.run(run())


def test_pauses_grow_up_to_a_limit_and_begin_anew() -> None:
    backoff = Backoff(1, 8)
    pauses = [backoff.next() for _ in range(6)]
    assert all(top / 2 <= p <= top for p, top in zip(pauses, [1, 2, 4, 8, 8, 8], strict=True))
    backoff.reset()
    assert backoff.next() <= 1
