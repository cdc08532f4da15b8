"""An HTTP client for POST with a limit on time and on the size of answers."""

from __future__ import annotations

import io
import json
import socket
import time
from collections.abc import Mapping
from functools import partial
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import SplitResult, urlsplit

MAX_BYTES = 10 * 1024 * 1024
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json"}


class ExtenderError(Exception):
    """The service could not be asked, or its answer cannot be used."""


def split_prefix(prefix: str) -> SplitResult:
    """The parts of the URL that paths are appended to.

    :raises ValueError: it is not an HTTP URL with a host.
    """
    parts = urlsplit(prefix)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("should be a URL like 'http://extender.example:8713'")
    _ = parts.port  # raises ValueError unless it is a number
    return parts


def without_password(url: str) -> str:
    """A URL for a message: user and password are left out."""
    scheme, separator, rest = url.partition("//")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}" if separator else url


class _Timed(io.RawIOBase):
    """Reads a socket with a deadline for all bytes together."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, deadline: float) -> None:
        self._raw, self._sock, self._deadline = raw, sock, deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(_left(self._deadline))
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, deadline: float, **more: Any) -> None:
        super().__init__(sock, *args, **more)
        self.fp = io.BufferedReader(_Timed(self.fp.detach(), sock, deadline))


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


class ExtenderClient:
    """Sends requests over one connection that stays open."""

    def __init__(self, prefix: str, timeout: float) -> None:
        self._parts = split_prefix(prefix)
        self._timeout = timeout
        self._connection: HTTPConnection | None = None

    def post(self, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return the JSON object of the answer.

        :raises ExtenderError: no answer in time, a status other than 200, no JSON object.
        """
        url = f"{without_password(self._parts.geturl()).rstrip('/')}/{verb}"
        try:
            status, text = self._exchange(verb, json.dumps(body).encode())
        except TimeoutError:
            self.close()
            raise ExtenderError(f"{url} gave no answer within {self._timeout:g}s") from None
        except (OSError, HTTPException) as error:
            self.close()
            raise ExtenderError(f"{url}: {error or type(error).__name__}") from error
        if status != 200:
            raise ExtenderError(f"{url} answered with status {status}")
        if len(text) > MAX_BYTES:
            raise ExtenderError(f"{url} answered with more than {MAX_BYTES} bytes")
        try:
            answer = json.loads(text) if text.strip() else {}
        except ValueError as error:
            raise ExtenderError(f"{url} answered with malformed JSON: {error}") from None
        except RecursionError:
            raise ExtenderError(f"{url} answered with JSON that is nested too deeply") from None
        if not isinstance(answer, dict):
            raise ExtenderError(f"{url} answered with {type(answer).__name__}, not an object")
        return answer

    def _exchange(self, verb: str, body: bytes) -> tuple[int, bytes]:
        deadline = time.monotonic() + self._timeout
        reused = self._connection is not None
        try:
            return self._send(verb, body, deadline)
        except ConnectionError:
            if not reused:
                raise
            # The service may have closed an idle connection: try once with a new one.
            self.close()
            return self._send(verb, body, deadline)

    def _send(self, verb: str, body: bytes, deadline: float) -> tuple[int, bytes]:
        connection = self._connection
        if connection is None:
            kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
            assert self._parts.hostname is not None
            connection = kind(self._parts.hostname, self._parts.port, timeout=_left(deadline))
            connection.connect()
            self._connection = connection
        connection.sock.settimeout(_left(deadline))
        connection.response_class = partial(_Response, deadline=deadline)  # type: ignore[assignment]
        path = f"{self._parts.path.rstrip('/')}/{verb}"
        connection.request("POST", path, body, _HEADERS)
        response = connection.getresponse()
        text = response.read(MAX_BYTES + 1)
        if response.will_close or len(text) > MAX_BYTES:
            self.close()
        return response.status, text

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
