"""Leader election against an API server in memory."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from _fake_api import FakeApi, fake_api, until

from pumice_kubernetes import lease as module
from pumice_kubernetes.client import Client
from pumice_kubernetes.lease import Lease

FOLDER = "/apis/coordination.k8s.io/v1/namespaces/x/leases"
PATH = f"{FOLDER}/pumice"


class LeaseApi:
    """Keeps one Lease and compares versions, as the API server does."""

    def __init__(self, api: FakeApi) -> None:
        self.lease: dict[str, Any] | None = None
        self.version = 0
        api.answers["GET", PATH] = self.get
        api.answers["PUT", PATH] = self.put
        api.answers["POST", FOLDER] = self.put

    def get(self, _: Any) -> tuple[int, Any]:
        return (404, {"code": 404}) if self.lease is None else (200, self.lease)

    def put(self, body: dict[str, Any]) -> tuple[int, Any]:
        known = None if self.lease is None else self.lease["metadata"]["resourceVersion"]
        if body["metadata"].get("resourceVersion") != known:
            return 409, {"code": 409, "message": "changed"}
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        self.lease = body
        return 200, body


def candidate(client: Client, name: str, seconds: float = 1.0) -> Lease:
    return Lease(client, "x", "pumice", name, seconds=seconds)


def test_one_of_two_leads_and_the_other_takes_over_when_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: clock))

    async def run() -> None:
        nonlocal clock
        async with fake_api() as (api, client):
            server = LeaseApi(api)
            one, two = candidate(client, "one"), candidate(client, "two")
            for _ in range(12):
                await one._try()
                await two._try()
                assert one.is_held
                assert not two.is_held
                clock += 0.25
            crashed = clock - 0.25  # the lease is not released
            while not two.is_held:
                assert clock < crashed + 2
                clock += 0.25
                await two._try()
                assert not (one.is_held and two.is_held)
            assert clock > crashed + 1
            assert server.lease is not None
            assert server.lease["spec"]["leaseTransitions"] == 1

    asyncio.run(run())


def test_a_leader_that_cannot_renew_stops_before_the_lease_ends() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            LeaseApi(api)
            lease = candidate(client, "one", 0.6)
            task = asyncio.create_task(lease.run())
            await until(lambda: lease.is_held)
            api.answers["GET", PATH] = lambda _: (500, {"code": 500, "message": "down"})
            await asyncio.sleep(0.59)
            assert not lease.is_held
            task.cancel()

    asyncio.run(run())


def test_a_released_lease_is_taken_at_once() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            LeaseApi(api)
            one, two = candidate(client, "one", 30), candidate(client, "two", 30)
            await one._try()
            assert one.is_held
            await one.release()
            await two._try()
            assert two.is_held
            assert not one.is_held

    asyncio.run(run())


def test_a_lease_that_is_being_renewed_is_released() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            server = LeaseApi(api)
            lease = candidate(client, "one", 30)
            await lease._try()
            send = client.request

            async def slow(method: str, path: str, body: Any = None, **more: Any) -> bytes:
                if method == "PUT":  # the release would read before the renewal writes
                    await asyncio.sleep(0.05 if body["spec"]["holderIdentity"] else 0.2)
                return await send(method, path, body, **more)

            client.request = slow  # type: ignore[method-assign]
            renewing = asyncio.create_task(lease.run())
            await asyncio.sleep(0)
            await lease.release()
            assert not lease.is_held
            assert server.lease is not None
            assert server.lease["spec"]["holderIdentity"] == ""
            assert server.version == 3
            renewing.cancel()

    asyncio.run(run())


def test_who_is_slower_has_not_got_it() -> None:
    async def run() -> None:
        async with fake_api() as (api, client):
            server = LeaseApi(api)
            one, two = candidate(client, "one"), candidate(client, "two")
            get = server.get

            def late(body: Any) -> tuple[int, Any]:
                answer = get(body)
                server.put({"metadata": {"name": "pumice"}, "spec": {"holderIdentity": "two"}})
                return answer

            api.answers["GET", PATH] = late
            await one._try()
            assert not one.is_held
            assert not two.is_held

    asyncio.run(run())
