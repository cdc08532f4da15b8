"""The server on a real socket."""

import http.client
import json
import socket
import threading

import pytest

from pumice.errors import PumiceError
from pumice.serve.server import Server
from tests.framework.serve._served import client_of


@pytest.fixture
def port(demo):
    with Server("127.0.0.1", 0) as server:
        server.app = client_of(demo).app
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.port
        server.shutdown()
        thread.join()


@pytest.fixture
def connection(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    yield connection
    connection.close()


def answer(connection):
    response = connection.getresponse()
    return response.status, response.headers, response.read()


def test_several_requests_on_one_connection(connection):
    for _ in range(2):
        connection.request("GET", "/api/jobs")
        status, headers, body = answer(connection)
        assert status == 200
        assert json.loads(body)["total"] == 6
        assert headers["Server"] == "pumice"


def test_head_sends_no_body(connection):
    connection.request("HEAD", "/")
    status, headers, body = answer(connection)
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000


def test_a_long_body_is_refused(connection):
    connection.request("POST", "/login", body=b"x" * 5000)
    assert answer(connection)[0] == 413


@pytest.mark.parametrize(
    "sent, status",
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\n\r\n", b"414"),
        (b"BREW / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"501"),
        (b"GET /api/jobs HTTP/1.1\r\n\r\n", b"421"),
        (b"POST /login HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
    ],
)
def test_malformed_requests_get_an_answer(port, sent, status):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as raw:
        raw.sendall(sent)
        assert status in raw.recv(200)


def test_a_port_in_use_is_named_with_the_fix():
    with Server("127.0.0.1", 0) as first, pytest.raises(PumiceError) as caught:
        Server("127.0.0.1", first.port)
    assert str(caught.value) == f"port {first.port} of 127.0.0.1 is in use"
    assert "--port 0" in caught.value.hint


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(PumiceError, match="cannot listen on 192") as caught:
        Server("192.0.2.1", 0)
    assert "--host" in caught.value.hint
