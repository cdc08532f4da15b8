"""Follows the objects of one resource: a list, then a watch that is resumed where it ended."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from loguru import logger
from msgspec import Raw, Struct

from pumice_kubernetes.client import UNREACHABLE, ApiError, Client, EventWire, error_of
from pumice_kubernetes.resources import Served

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 30.0
_GONE = 410
_NOT_SERVED = (403, 404, 405)


class MetaWire(Struct, rename="camel", frozen=True):
    """What identifies an object and its version."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""

    @property
    def key(self) -> str:
        """``namespace/name``, or the name where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class ObjectWire(Struct):
    """An object of which only the metadata is read."""

    metadata: MetaWire = MetaWire()


_OBJECT = msgspec.json.Decoder(ObjectWire)


class Sink(Protocol):
    """Where the objects of a resource go."""

    def put(self, served: Served, meta: MetaWire, raw: Raw) -> None:
        """An object that is there, perhaps one that is known already."""
        ...

    def remove(self, served: Served, key: str, uid: str = "") -> None:
        """An object that is gone; with ``uid`` only if it is that one."""
        ...

    def keys(self, served: Served) -> set[str]:
        """The objects that are known."""
        ...


class Backoff:
    """Pauses that grow while something fails, with jitter so that clients do not align."""

    def __init__(self, first: float = _FIRST_PAUSE, longest: float = _LONGEST_PAUSE) -> None:
        self._first = first
        self._longest = longest
        self._failures = 0

    def reset(self) -> None:
        """It has worked."""
        self._failures = 0

    def next(self) -> float:
        """Seconds to wait after one more failure."""
        pause = min(self._first * 2.0**self._failures, self._longest)
        self._failures = min(self._failures + 1, 30)
        return pause * random.uniform(0.5, 1.0)


class Reflector:
    """Keeps a sink equal to what the API server has of one resource."""

    def __init__(
        self,
        client: Client,
        served: Served,
        sink: Sink,
        *,
        seconds: int = 290,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.served = served
        """The resource that it follows."""
        self.synced = asyncio.Event()
        """Set once the first list has been read, or it is certain that there is none."""
        self.relists = 0
        """How often the whole list was read."""
        self.expired = 0
        """How often the server had forgotten the version from which to resume."""
        self._client = client
        self._sink = sink
        self._seconds = seconds
        self._sleep = sleep
        self._version = ""
        self._backoff = Backoff()
        self._trouble = ""

    async def run(self) -> None:
        """Follow the resource until cancelled."""
        while True:
            try:
                if not self._version:
                    await self._list()
                await self._watch()
            except ApiError as error:
                if error.status == _GONE and self._version:
                    self._version = ""
                    self.expired += 1
                    logger.info("{}: the watch has expired, listing again", self._label)
                    continue
                if error.status in _NOT_SERVED and not self.served.resource.required:
                    self.synced.set()  # scheduling goes on without it
                await self._pause(str(error))
            except UNREACHABLE:
                await self._sleep(self._backoff.next())

    @property
    def _label(self) -> str:
        return self.served.resource.label

    async def _pause(self, trouble: str) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            logger.warning("{} cannot be read: {}", self._label, trouble)
        await self._sleep(self._backoff.next())

    def _works(self) -> None:
        self._backoff.reset()
        if self._trouble:
            self._trouble = ""
            logger.warning("{} can be read again", self._label)

    async def _list(self) -> None:
        """Read everything; what is known and no longer listed is gone."""
        listed: set[str] = set()
        version = ""
        async for page in self._client.pages(self.served.path()):
            for raw in page.items or ():
                meta = _OBJECT.decode(raw).metadata
                listed.add(meta.key)
                self._sink.put(self.served, meta, raw)
            version = page.metadata.resource_version
            await asyncio.sleep(0)
        for key in self._sink.keys(self.served) - listed:
            self._sink.remove(self.served, key)
        self._version = version
        self.relists += 1
        self.synced.set()
        self._works()

    async def _watch(self) -> None:
        """Follow the changes since the last version, until the server ends the watch."""
        # A server that is asked by many watches should not get them all back at once.
        seconds = int(self._seconds * random.uniform(0.8, 1.0))
        started, before = time.monotonic(), self._version
        async for event in self._client.watch(self.served.path(), self._version, seconds):
            self._take(event)
            self._works()
        if self._version == before and time.monotonic() - started < 1:
            await self._sleep(self._backoff.next())

    def _take(self, event: EventWire) -> None:
        if event.type == "ERROR":
            raise error_of(500, event.object)
        meta = _OBJECT.decode(event.object).metadata
        if event.type == "DELETED":
            self._sink.remove(self.served, meta.key, meta.uid)
        elif event.type != "BOOKMARK":
            self._sink.put(self.served, meta, event.object)
        self._version = meta.resource_version or self._version
