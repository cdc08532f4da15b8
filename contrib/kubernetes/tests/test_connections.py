"""Requests on kept connections: lengths, chunks, ends at the wrong moment."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from loguru import logger

from pumice_kubernetes import connections
from pumice_kubernetes.auth import Connection
from pumice_kubernetes.client import Client
from pumice_kubernetes.connections import Connections

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class RawServer:
    """Answers with given bytes, in given pieces; None ends the connection."""

    def __init__(self, *answers: list[bytes | None]) -> None:
        self._answers = list(answers)
        self.opened = 0
        self.requests: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while self._answers:
                head = await reader.readuntil(b"\r\n\r\n")
                length = head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]
                self.requests.append(head + await reader.readexactly(int(length or 0)))
                for piece in self._answers.pop(0):
                    if piece is None:
                        return
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.005)
            await reader.read()
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


def ask(server: RawServer, work: Callable[[Connections], Awaitable[Any]]) -> Any:
    """What ``work`` gives with a connection pool of this server."""

    async def run() -> Any:
        listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        pool = Connections(f"http://127.0.0.1:{port}/root", None)
        try:
            return await work(pool)
        finally:
            await pool.close()
            listening.close()

    return asyncio.run(run())


async def get(pool: Connections) -> tuple[int, bytes]:
    return await pool.request("GET", "/a", "", {}, None)


async def twice(pool: Connections) -> list[tuple[int, bytes]]:
    return [await get(pool), await get(pool)]


def test_a_request_has_path_query_headers_and_body() -> None:
    server = RawServer([OK])
    headers = {"Authorization": "Bearer t", "Content-Type": "application/json"}
    answer = ask(server, lambda pool: pool.request("POST", "/a b", "x=1", headers, b"{}"))
    assert answer == (200, b"ok")
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    assert first == "POST /root/a%20b?x=1 HTTP/1.1"
    assert {"Authorization: Bearer t", "Content-Length: 2", "Accept: application/json"} <= set(
        lines
    )
    assert body == b"{}"


def test_a_connection_is_used_again() -> None:
    server = RawServer([OK], [OK])
    assert ask(server, twice) == [(200, b"ok")] * 2
    assert server.opened == 1


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "pieces, answer",
    [
        ([OK[:10], OK[10:30], OK[30:]], (200, b"ok")),
        ([CHUNKED, b"3\r\nabc\r\n", b"2;x=y\r\nde\r", b"\n0\r\n\r\n"], (200, b"abcde")),
        ([CHUNKED + b"10\r\n0123456789abcdef\r\n0\r\n\r\n"], (200, b"0123456789abcdef")),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], (204, b"")),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", OK], (200, b"ok")),
        ([b"HTTP/1.1 409 Conflict\r\ncontent-length: 1\r\n\r\nx"], (409, b"x")),
    ],
)
def test_answers_come_in_pieces(pieces: list[bytes | None], answer: tuple[int, bytes]) -> None:
    server = RawServer(pieces, [OK])
    assert ask(server, twice) == [answer, (200, b"ok")]
    assert server.opened == 1


@pytest.mark.parametrize(
    "pieces",
    [
        [b"HTTP/1.1 200 OK\r\n\r\n", b"all", None],
        [b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nall"],
        [b"HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nall"],
        [b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nallmore"],
    ],
    ids=["until the end", "close", "HTTP/1.0", "more than it said"],
)
def test_a_connection_that_cannot_be_used_again_is_not(pieces: list[bytes | None]) -> None:
    server = RawServer(pieces, [OK])
    assert ask(server, twice) == [(200, b"all"), (200, b"ok")]
    assert server.opened == 2


@pytest.mark.parametrize(
    "pieces",
    [[None], [OK[:-1], None], [CHUNKED + b"3\r\nab", None], [b"SSH-2.0-OpenSSH\r\n\r\n"]],
    ids=["at once", "in the body", "in a chunk", "another protocol"],
)
def test_an_answer_that_does_not_come_whole_is_an_error(pieces: list[bytes | None]) -> None:
    server = RawServer(pieces, [OK])

    async def work(pool: Connections) -> tuple[int, bytes]:
        with pytest.raises(OSError):  # noqa: PT011 # which one it is does not matter
            await get(pool)
        return await get(pool)

    assert ask(server, work) == (200, b"ok")
    assert server.opened == 2


def test_a_late_answer_is_not_that_of_the_next_request(monkeypatch: pytest.MonkeyPatch) -> None:
    server = RawServer([], [OK])

    async def work(pool: Connections) -> tuple[int, bytes]:
        monkeypatch.setattr(connections, "_ANSWER", 0.05)
        with pytest.raises(TimeoutError):
            await get(pool)
        monkeypatch.setattr(connections, "_ANSWER", 30)
        return await get(pool)

    assert ask(server, work) == (200, b"ok")
    assert server.opened == 2


def test_a_server_that_is_not_there_is_an_error() -> None:
    async def run() -> None:
        with pytest.raises(OSError):  # noqa: PT011 # which one it is does not matter
            await get(Connections("http://127.0.0.1:1", None))

    asyncio.run(run())


@pytest.fixture
def log() -> Iterator[list[str]]:
    lines: list[str] = []
    sink = logger.add(lambda line: lines.append(line.split(":")[0].rstrip()), format="{message}")
    yield lines
    logger.remove(sink)


def test_an_outage_is_told_once_whatever_was_under_way(log: list[str]) -> None:
    async def run() -> None:
        client = Client(Connection("https://127.0.0.1", ssl.create_default_context()))
        asked: list[asyncio.Future[tuple[int, bytes]]] = []

        def request(*_: Any) -> asyncio.Future[tuple[int, bytes]]:
            asked.append(asyncio.get_running_loop().create_future())
            return asked[-1]

        client._connections.request = request  # type: ignore[method-assign,assignment]

        async def begin(count: int) -> list[asyncio.Task[bytes]]:
            tasks = [asyncio.create_task(client.request("GET", "/")) for _ in range(count)]
            await asyncio.sleep(0)
            return tasks

        lost = ConnectionResetError("lost")
        before = await begin(4)
        asked[0].set_exception(lost)
        await asyncio.wait(before[:1])
        asked[1].set_result((200, b""))  # was on the way when the server died
        asked[2].set_exception(lost)
        await asyncio.wait(before[1:3])
        during = await begin(3)
        asked[4].set_exception(lost)
        await asyncio.wait(during[:1])
        asked[5].set_result((200, b""))
        await asyncio.wait(during[1:2])
        asked[3].set_exception(lost)  # seen late
        asked[6].set_exception(lost)
        await asyncio.gather(*before, *during, return_exceptions=True)
        after = await begin(1)
        asked[7].set_exception(lost)
        await asyncio.wait(after)
        assert isinstance(after[0].exception(), ConnectionResetError)
        await client.close()

    asyncio.run(run())
    ceased, again = "the API server does not answer", "the API server answers again"
    assert log == [ceased, again, ceased]
