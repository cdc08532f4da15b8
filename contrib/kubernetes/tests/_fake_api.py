"""A tiny API server in memory: lists, watches and whatever a test makes of them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from pumice_kubernetes.auth import Connection
from pumice_kubernetes.client import Client

Answer = tuple[int, Any]


class FakeApi:
    """Answers requests; ``answers`` has what a test wants instead, by method and path."""

    def __init__(self) -> None:
        self.version = 1
        self.objects: dict[str, dict[str, dict[str, Any]]] = {}
        """By path of a collection: key → object."""
        self.log: dict[str, list[tuple[int, str, dict[str, Any]]]] = {}
        self.oldest = 0
        """Watches from before this version have expired."""
        self.answers: dict[tuple[str, str], Callable[[Any], Answer]] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.ending = 0
        self.watching: list[asyncio.Event] = []

    def put(self, path: str, item: dict[str, Any]) -> dict[str, Any]:
        """Create or change an object."""
        self.version += 1
        meta = item["metadata"]
        meta["resourceVersion"] = str(self.version)
        meta.setdefault("uid", f"uid-{meta['name']}")
        key = f"{meta.get('namespace', '')}/{meta['name']}"
        known = self.objects.setdefault(path, {})
        kind = "MODIFIED" if key in known else "ADDED"
        known[key] = item
        self._add(path, kind, item)
        return item

    def delete(self, path: str, key: str) -> None:
        self.version += 1
        item = self.objects[path].pop(key)
        gone = {**item, "metadata": {**item["metadata"], "resourceVersion": str(self.version)}}
        self._add(path, "DELETED", gone)

    def _add(self, path: str, kind: str, item: dict[str, Any]) -> None:
        copy = json.loads(json.dumps(item))
        self.log.setdefault(path, []).append((self.version, kind, copy))
        self.wake()

    def end_watches(self) -> None:
        """End all watches, as a server does from time to time."""
        self.ending += 1
        self.wake()

    def wake(self) -> None:
        for event in self.watching:
            event.set()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.json() if request.can_read_body else None
        self.requests.append((request.method, request.path, body))
        special = self.answers.get((request.method, request.path))
        if special is not None:
            status, content = special(body)
            return web.json_response(content, status=status)
        if request.query.get("watch"):
            return await self.watch(request)
        if request.method == "GET" and request.path in self.objects:
            items = list(self.objects[request.path].values())
            return web.json_response(
                {"metadata": {"resourceVersion": str(self.version)}, "items": items}
            )
        return web.json_response({"code": 404, "reason": "NotFound", "message": ""}, status=404)

    async def watch(self, request: web.Request) -> web.StreamResponse:
        version = int(request.query["resourceVersion"])
        response = web.StreamResponse()
        await response.prepare(request)
        if version < self.oldest:
            await self._line(
                response, "ERROR", {"code": 410, "reason": "Expired", "message": "old"}
            )
            return response
        changed, started = asyncio.Event(), self.ending
        self.watching.append(changed)
        mark = {"metadata": {"resourceVersion": str(version)}, "spec": {"containers": None}}
        await self._line(response, "BOOKMARK", mark)
        while True:
            for number, kind, item in self.log.get(request.path, []):
                if number > version:
                    version = number
                    await self._line(response, kind, item)
            if version < self.oldest or self.ending > started:
                return response
            changed.clear()
            await changed.wait()

    async def _line(self, response: web.StreamResponse, kind: str, item: dict[str, Any]) -> None:
        await response.write(json.dumps({"type": kind, "object": item}).encode() + b"\n")


@asynccontextmanager
async def fake_api() -> AsyncIterator[tuple[FakeApi, Client]]:
    """A running server, and a client of it."""
    api = FakeApi()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    server = TestServer(app)
    await server.start_server()
    client = Client(Connection(str(server.make_url("")).rstrip("/"), ssl.create_default_context()))
    try:
        yield api, client
    finally:
        await client.close()
        await server.close()


async def until(check: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait for something to become true."""
    async with asyncio.timeout(seconds):
        while not check():
            await asyncio.sleep(0.01)
