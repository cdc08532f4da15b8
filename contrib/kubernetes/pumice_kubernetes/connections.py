"""Short requests over HTTP/1.1 on connections that are kept.

A bind is some 200 bytes, and its answer, too: a general client spends three times the CPU on it,
which the API server lacks where both run on one machine. Watches need no speed of that kind.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from typing import cast
from urllib.parse import quote, urlsplit

_CONNECT, _ANSWER = 10.0, 30.0
"""Seconds until a connection must be there, and until an answer must be."""
_KEPT = 60.0
"""Seconds for which an unused connection is kept; the API server ends it a little later."""
_MOST_HEAD = 65536
"""Bytes that the head of an answer may have."""


class Connections:
    """The connections to one server; each carries one request at a time."""

    def __init__(self, server: str, tls: ssl.SSLContext | None) -> None:
        url = urlsplit(server)
        self._host = url.hostname or ""
        self._port = url.port or (443 if url.scheme == "https" else 80)
        self._root = url.path.rstrip("/")
        self._tls = tls if url.scheme == "https" else None
        self._head = (
            f"Host: {url.netloc}\r\nAccept: application/json\r\nAccept-Encoding: identity\r\n"
        )
        self._free: list[Exchange] = []

    async def request(
        self, method: str, path: str, query: str, headers: dict[str, str], body: bytes | None
    ) -> tuple[int, bytes]:
        """The status and the body of the answer.

        :raises OSError: no answer came; whether the request was carried out is not known.
        """
        target = self._root + quote(path) + (f"?{query}" if query else "")
        lines = [f"{method} {target} HTTP/1.1\r\n{self._head}"]
        lines += [f"{name}: {value}\r\n" for name, value in headers.items()]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}\r\n")
        lines.append("\r\n")
        exchange = await self._take()
        try:
            async with asyncio.timeout(_ANSWER):
                answer = await exchange.send("".join(lines).encode("latin-1") + (body or b""))
        except BaseException:
            exchange.close()  # its answer may still come, and must not be taken for the next one
            raise
        if exchange.is_open:
            self._free.append(exchange)
        return answer

    async def _take(self) -> Exchange:
        """A connection without a request; the one that was used last, so that others may end."""
        while self._free:
            exchange = self._free.pop()
            if exchange.is_open and time.monotonic() - exchange.used < _KEPT:
                return exchange
            exchange.close()
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(_CONNECT):
            _, made = await loop.create_connection(Exchange, self._host, self._port, ssl=self._tls)
        return made

    async def close(self) -> None:
        """End all connections that carry no request."""
        for exchange in self._free:
            exchange.close()
        self._free.clear()
        await asyncio.sleep(0)


class Exchange(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether another request can be sent."""
        self.used = time.monotonic()
        """When the last answer came."""
        self._transport: asyncio.Transport
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._data = bytearray()
        self._status = 0
        self._length: int | None = None
        """Bytes of the body; None: it has chunks, or ends with the connection."""
        self._chunks: list[bytes] | None = None
        """The chunks of a body that has chunks."""
        self._keeps = True

    def send(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; returns what waits for the answer."""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def close(self) -> None:
        """End the connection, whatever it carries."""
        self.is_open = False
        self._answer = None
        self._transport.abort()

    # -- what asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.is_open = True

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        ends_it = error is None and self._status and self._length is None and self._chunks is None
        if ends_it:
            self._done(bytes(self._data))
        else:
            self._fail(error or ConnectionResetError("the API server ended the connection"))

    def data_received(self, data: bytes) -> None:
        self._data += data
        try:
            self._read()
        except ValueError as error:
            self._fail(ConnectionError(f"not an answer in HTTP/1.1: {error}"))
            self.close()

    # -- inside

    def _read(self) -> None:
        """Take what has come; the answer is given when it is complete."""
        while not self._status:
            if not self._read_head():
                return
        if self._chunks is not None:
            if self._read_chunks(self._chunks):
                self._done(b"".join(self._chunks))
        elif self._length is not None and len(self._data) >= self._length:
            body = bytes(self._data[: self._length])
            del self._data[: self._length]
            self._done(body)

    def _read_head(self) -> bool:
        """Read the head of an answer, if it has come whole."""
        end = self._data.find(b"\r\n\r\n")
        if end < 0:
            if len(self._data) > _MOST_HEAD:
                raise ValueError("its head is too long")
            return False
        first, *lines = self._data[:end].decode("latin-1").split("\r\n")
        del self._data[: end + 4]
        version, _, rest = first.partition(" ")
        if not version.startswith("HTTP/1.") or self._answer is None:
            raise ValueError(first[:100])
        status = int(rest[:3])
        if status < 200:  # the answer itself comes after it
            return True
        self._status, self._keeps = status, version != "HTTP/1.0"
        self._length = 0 if status in (204, 304) else None
        for line in lines:
            name, _, value = line.partition(":")
            match name.lower():
                case "content-length":
                    self._length = int(value)
                case "transfer-encoding":
                    self._chunks = []
                case "connection" if "close" in value.lower():
                    self._keeps = False
        return True

    def _read_chunks(self, chunks: list[bytes]) -> bool:
        """Take the chunks that have come whole; whether the last one has."""
        at, size = 0, -1
        while size and (end := self._data.find(b"\r\n", at)) >= 0:
            size = int(self._data[at:end].split(b";")[0], 16)
            begin = end + 2
            if len(self._data) < begin + size + 2:
                size = -1
                break
            chunks.append(bytes(self._data[begin : begin + size]))
            at = begin + size + 2
        del self._data[:at]
        return size == 0

    def _done(self, body: bytes) -> None:
        answer, status = self._answer, self._status
        self.used = time.monotonic()
        self._answer, self._status, self._length, self._chunks = None, 0, None, None
        if not self._keeps or self._data:
            self.close()
        if answer is not None and not answer.done():
            answer.set_result((status, body))

    def _fail(self, error: Exception) -> None:
        answer, self._answer = self._answer, None
        if answer is not None and not answer.done():
            answer.set_exception(error)
