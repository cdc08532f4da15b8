"""A thin client of the Kubernetes API: requests, pages of a list, and the lines of a watch."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import aiohttp
import msgspec
from loguru import logger
from msgspec import Raw, Struct

from pumice_kubernetes.auth import Connection
from pumice_kubernetes.connections import Connections

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_WATCH_GRACE = 30.0
"""Seconds that a watch may stay open beyond the time at which the server should have ended it."""
UNREACHABLE = (aiohttp.ClientError, asyncio.TimeoutError, OSError)
"""What a request raises when no answer came."""


S = TypeVar("S")
T = TypeVar("T")


class ApiError(Exception):
    """The API server's refusal of a request."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{message or reason} ({status})")
        self.status = status
        """The HTTP status."""
        self.reason = reason
        """Kubernetes' word for it, such as ``Conflict``."""
        self.message = message
        """Its explanation."""


class CauseWire(Struct):
    """One of the causes of a refusal."""

    message: str = ""


class DetailsWire(Struct):
    """The details of a refusal."""

    causes: list[CauseWire] | None = None


class StatusWire(Struct):
    """What the API server answers to a request that it refuses."""

    code: int = 0
    reason: str = ""
    message: str = ""
    details: DetailsWire | None = None


class ListMeta(Struct, rename="camel", frozen=True):
    """The metadata of a list."""

    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class ListWire(Struct):
    """A page of a list; the objects are decoded by who knows their kind."""

    metadata: ListMeta = ListMeta()
    items: list[Raw] | None = None


class EventWire(Struct):
    """One line of a watch."""

    type: str
    object: Raw


_STATUS = msgspec.json.Decoder(StatusWire)
_LIST = msgspec.json.Decoder(ListWire)
_EVENT = msgspec.json.Decoder(EventWire)


class Client:
    """Sends requests to one API server. To be used in the event loop that made it."""

    def __init__(self, connection: Connection, *, in_flight: int = 64) -> None:
        self._connection = connection
        self.in_flight = in_flight
        """How many requests may be under way at once."""
        self._slots = asyncio.Semaphore(in_flight)
        self._connections = Connections(connection.server, connection.ssl)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=connection.ssl, limit=0, keepalive_timeout=60),
            headers={"Accept": "application/json", "Accept-Encoding": "identity"},
        )
        self._answers = True
        """Whether the server answers, as far as is known."""
        self._turn = 0
        """How often that has changed."""

    async def close(self) -> None:
        """End all connections."""
        await self._connections.close()
        await self._session.close()

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        params: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> bytes:
        """The body of the answer.

        :raises ApiError: the server refused.
        :raises UNREACHABLE: no answer came; that is logged here, once until one comes.
        """
        headers = self._connection.headers()
        data = None
        if body is not None:
            data = msgspec.json.encode(body)
            headers["Content-Type"] = content_type
        query = urlencode(params) if params else ""
        async with self._slots:
            asked = self._turn
            try:
                status, content = await self._connections.request(
                    method, path, query, headers, data
                )
            except UNREACHABLE as error:
                self._heard(asked, error)
                raise
        self._heard(asked)
        if status >= 300:
            raise error_of(status, content)
        return content

    def _heard(self, asked: int, error: BaseException | None = None) -> None:
        """Log that the server does not answer, or does again, once for all who ask it.

        What was ``asked`` before the last such change says nothing any more: its answer may have
        been on the way when the server died.
        """
        answers = error is None
        if asked != self._turn or answers == self._answers:
            return
        self._answers = answers
        self._turn += 1
        if error is None:
            logger.warning("the API server answers again")
        else:
            logger.warning("the API server does not answer: {}: {}", type(error).__name__, error)

    async def each(self, work: Callable[[S], Awaitable[T]], items: Sequence[S]) -> list[T]:
        """What ``work`` gives for each item; as many at once as requests may be under way.

        Requests of others, such as the renewal of the lease, get their turn meanwhile.
        """
        outcomes: dict[int, T] = {}
        left = iter(enumerate(items))

        async def take_next() -> None:
            for number, item in left:
                outcomes[number] = await work(item)

        await asyncio.gather(*(take_next() for _ in range(min(self.in_flight, len(items)))))
        return [outcomes[number] for number in range(len(items))]

    async def get(self, path: str, params: Mapping[str, str] | None = None) -> Any:
        """The answer to a GET, decoded."""
        return msgspec.json.decode(await self.request("GET", path, params=params))

    async def patch(
        self, path: str, body: Any, *, content_type: str = MERGE_PATCH
    ) -> dict[str, Any]:
        """Change an object; returns it as it is afterwards."""
        answer = await self.request("PATCH", path, body, content_type=content_type)
        return msgspec.json.decode(answer, type=dict[str, Any])

    async def pages(self, path: str, *, limit: int = 2000) -> AsyncIterator[ListWire]:
        """The pages of a list."""
        params = {"limit": str(limit)}
        while True:
            page = _LIST.decode(await self.request("GET", path, params=params))
            yield page
            if not page.metadata.continue_:
                return
            params["continue"] = page.metadata.continue_

    async def watch(self, path: str, version: str, seconds: int) -> AsyncIterator[EventWire]:
        """What has happened since a version, line by line, until the server ends it.

        :raises ApiError: the server refused at once; a later error is an event.
        :raises UNREACHABLE: the connection was lost; that is logged as for a request.
        """
        asked = self._turn
        try:
            async for event in self._watch(path, version, seconds):
                yield event
        except UNREACHABLE as error:
            self._heard(asked, error)
            raise

    async def _watch(self, path: str, version: str, seconds: int) -> AsyncIterator[EventWire]:
        params = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        timeout = aiohttp.ClientTimeout(
            total=seconds + _WATCH_GRACE, connect=10, sock_read=seconds + _WATCH_GRACE
        )
        url = self._connection.server + path
        headers = self._connection.headers()
        async with self._session.get(
            url, params=params, headers=headers, timeout=timeout, allow_redirects=False
        ) as response:
            if response.status >= 300:
                raise error_of(response.status, await response.read())
            rest = b""
            async for chunk in response.content.iter_any():
                lines = (rest + chunk).split(b"\n")
                rest = lines.pop()
                for line in lines:
                    if line:
                        yield _EVENT.decode(line)


def error_of(status: int, content: bytes | Raw) -> ApiError:
    """The error that a Status object describes."""
    try:
        wire = _STATUS.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ApiError(status, "", bytes(content[:200]).decode("utf-8", "replace"))
    causes = (wire.details.causes if wire.details else None) or ()
    message = " ".join([wire.message, *(c.message for c in causes if c.message != wire.message)])
    return ApiError(wire.code or status, wire.reason, message.strip())
