"""The HTTP server: reads requests from sockets and sends what the app answers."""

from __future__ import annotations

import errno
import socket
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

from pumice.errors import PumiceError
from pumice.log import logger
from pumice.serve.app import App, Response

_LONGEST_BODY = 4096
_TIMEOUT = 30
"""Seconds without a request after which a connection is closed."""


class Server(ThreadingHTTPServer):
    """Listens as soon as it is made; answers once it has an app."""

    daemon_threads = True
    app: App

    def __init__(self, host: str, port: int) -> None:
        """
        :raises PumiceError: the server cannot listen there.
        """
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            self.address_family = found[0][0]
            super().__init__(found[0][4][:2], _Handler)  # type: ignore[arg-type]
        except OSError as error:
            raise _cannot_listen(host, port, error) from error

    @property
    def port(self) -> int:
        """The port; that of the system's choice if 0 was asked for."""
        return int(self.server_address[1])

    def server_bind(self) -> None:
        """Listen without asking the network for the machine's name, as HTTPServer would."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), self.port

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection broke; the next request is a new one."""
        logger.debug("the connection of {} broke", client_address)


def _cannot_listen(host: str, port: int, error: OSError) -> PumiceError:
    if error.errno == errno.EADDRINUSE:
        return PumiceError(
            f"port {port} of {host} is in use",
            hint="--port 0 takes a free one; or end the program that uses it",
        )
    if error.errno == errno.EACCES:
        return PumiceError(
            f"port {port} of {host} is reserved for the administrator",
            hint="--port takes numbers from 1024 on",
        )
    return PumiceError(
        f"cannot listen on {host}, port {port}: {error.strerror or error}",
        hint="--host takes an address of this machine",
    )


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: Server
    protocol_version = "HTTP/1.1"
    timeout = _TIMEOUT

    def _answer(self) -> None:
        body = self._body()
        if body is None:
            return
        headers = {name.title(): value for name, value in self.headers.items()}
        self._send(self.server.app.respond(self.command, self.path, headers, body))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _answer  # noqa: N815

    def _body(self) -> bytes | None:
        """The body; None: it was refused."""
        length = self.headers.get("Content-Length", "0")
        if self.headers.get("Transfer-Encoding") or not length.isdigit():
            self._refuse(HTTPStatus.LENGTH_REQUIRED, b"the body needs a Content-Length\n")
            return None
        if int(length[:9]) > _LONGEST_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, b"the body is too long\n")
            return None
        return self.rfile.read(int(length))

    def _refuse(self, status: int, text: bytes) -> None:
        self.close_connection = True
        self._send(Response(text, "text/plain; charset=utf-8", status, {"Connection": "close"}))

    def _send(self, response: Response) -> None:
        self.send_response(response.status)
        for name, value in response.all_headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    def version_string(self) -> str:
        """The Server header, without the versions of Python and its library."""
        return "pumice"

    def log_message(self, format: str, *args: Any) -> None:
        logger.debug("{} {}", self.address_string(), format % args)
