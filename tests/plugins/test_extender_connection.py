"""The connection to an extender: unusable answers, time limits, connections that are reused."""

import json
import socket
import time

import pytest

from pumice.errors import PolicyError
from pumice_builtin_plugins.extender import http
from pumice_builtin_plugins.extender.http import ExtenderClient, ExtenderError
from tests.plugins._extender import Service, free_port, options


@pytest.fixture
def service():
    running = Service()
    yield running
    running.close()


def test_a_password_is_in_no_error_text(world):
    prefix = f"http://me:secret@127.0.0.1:{free_port()}/api"
    with pytest.raises(ExtenderError) as error:
        ask(prefix)
    assert "secret" not in str(error.value)
    assert "127.0.0.1" in str(error.value)
    with pytest.raises(PolicyError) as problem:
        world.open("extender", **options("ftp://me:secret@example.org", "predicate"))
    assert "secret" not in str(problem.value)


def ask(prefix, verb="x", timeout=5.0):
    client = ExtenderClient(prefix, timeout)
    try:
        return client.post(verb, {})
    finally:
        client.close()


@pytest.mark.parametrize(
    "answer, message",
    [
        ((404, "{}"), "answered with status 404"),
        ((200, "[]"), "answered with list, not an object"),
        ((200, "{"), "malformed JSON"),
        ((302, "{}"), "answered with status 302"),
    ],
)
def test_unusable_answers_are_failures(service, answer, message):
    service.answers["x"] = answer
    with pytest.raises(ExtenderError, match=message) as caught:
        ask(service.prefix)
    assert str(caught.value).startswith(f"{service.prefix}x")


def test_an_empty_answer_abstains(service):
    service.answers["x"] = (200, "")
    assert ask(service.prefix) == {}


def test_a_refused_connection_is_a_failure():
    with pytest.raises(ExtenderError, match="refused"):
        ask(f"http://127.0.0.1:{free_port()}")


def slow(service, *parts, pause=0.1):
    """A reply in pieces that never ends by itself."""

    def reply(handler):
        for part in parts:
            handler.wfile.write(part)
            handler.wfile.flush()
        while not service.released.wait(pause):
            handler.wfile.write(b" ")
            handler.wfile.flush()

    return reply


HEAD = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "parts",
    [(), (HEAD, b"X-Long: "), (HEAD, b"Content-Length: 100000\r\n\r\n", b"{")],
    ids=["silence", "headers", "body"],
)
def test_the_time_limit_holds_however_slowly_the_answer_comes(service, parts):
    service.answers["x"] = slow(service, *parts)
    start = time.monotonic()
    with pytest.raises(ExtenderError, match=r"gave no answer within 0\.3s"):
        ask(service.prefix, timeout=0.3)
    assert time.monotonic() - start < 3


def test_an_answer_that_is_too_long_is_not_read_to_its_end(service, monkeypatch):
    monkeypatch.setattr(http, "MAX_BYTES", 1000)
    service.answers["x"] = (200, json.dumps({"a": "b" * 2000}))
    with pytest.raises(ExtenderError, match="more than 1000 bytes"):
        ask(service.prefix)
    service.answers["x"] = (200, json.dumps({"a": "b" * 900}))
    assert ask(service.prefix)["a"] == "b" * 900


def test_one_connection_serves_many_questions_and_is_made_anew_when_it_was_closed(service):
    client = ExtenderClient(service.prefix, 5.0)
    for _ in range(3):
        client.post("x", {})
    assert len(service.connections) == 1
    client._connection.sock.shutdown(socket.SHUT_RDWR)
    client.post("x", {})
    client.close()
    assert len(service.connections) == 2


def test_a_server_that_closes_after_every_answer(service):
    def reply(handler):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
        handler.close_connection = True

    service.answers["x"] = reply
    client = ExtenderClient(service.prefix, 5.0)
    assert [client.post("x", {}) for _ in range(2)] == [{}, {}]
    assert client._connection is None
