"""Who may ask: the token, the Host header, and the origin of a request that changes something."""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit

from pumice.errors import PumiceError

SHORTEST = 16
_TOKEN = re.compile(rf"[A-Za-z0-9._~+/=-]{{{SHORTEST},200}}", re.ASCII)
_LOCAL = ("localhost", "127.0.0.1", "::1")


class Access:
    """The rules of one server."""

    def __init__(self, host: str, port: int, token: str = "") -> None:
        """``token``: empty where none is demanded."""
        self.host = host
        self.port = port
        self.token = token
        self.local = is_loopback(host)
        """Whether only this machine can reach the server."""
        self.cookie = f"pumice_{port}"
        """The name of the cookie; a browser sends cookies to all ports of a host."""

    def allows_host(self, headers: Mapping[str, str]) -> bool:
        """Whether the Host header names this server.

        A page of another site whose name an attacker points to 127.0.0.1 has that name in it. A
        server that others can reach has names that it does not know, and demands a token, which a
        browser does not send to another name.
        """
        name = _host_of(f"//{headers.get('Host') or ''}")
        if not name:
            return False
        return not self.local or name in _LOCAL or name == self.host.lower()

    def allows_origin(self, headers: Mapping[str, str]) -> bool:
        """Whether a request that changes something comes from the page itself.

        Browsers send the origin with every such request; other programs need not.
        """
        if headers.get("Sec-Fetch-Site") not in (None, "same-origin", "none"):
            return False
        origin = headers.get("Origin")
        return origin is None or urlsplit(origin).netloc == headers.get("Host")

    def admits(self, headers: Mapping[str, str]) -> bool:
        """Whether the request has the token, if one is demanded."""
        if not self.token:
            return True
        scheme, _, given = (headers.get("Authorization") or "").partition(" ")
        if scheme.lower() == "bearer" and self.matches(given.strip()):
            return True
        try:
            morsel = SimpleCookie(headers.get("Cookie") or "").get(self.cookie)
        except CookieError:
            return False
        return morsel is not None and self.matches(morsel.value)

    def matches(self, given: str) -> bool:
        """Whether this is the token, compared in constant time."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    @property
    def set_cookie(self) -> str:
        """The header that stores the token in the browser."""
        return f"{self.cookie}={self.token}; Path=/; HttpOnly; SameSite=Strict"


def choose_token(host: str, given: str | None) -> str:
    """The token of a server on this address: the given one, or a new one if others can reach it.

    :raises PumiceError: the given token is too short or cannot be sent in a header.
    """
    if given is not None:
        if _TOKEN.fullmatch(given) is None:
            raise PumiceError(
                f"--token: a token has {SHORTEST} to 200 letters, digits or any of . _ ~ + / = -",
                hint="leave it out, and one is generated where one is needed",
            )
        return given
    return "" if is_loopback(host) else secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    :raises PumiceError: the name has no address.
    """
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise PumiceError(
            f"--host: {host!r} has no address",
            hint="127.0.0.1 for this machine only, 0.0.0.0 for all networks",
        ) from None
    return all(ipaddress.ip_address(str(info[4][0])).is_loopback for info in found)


def _host_of(address: str) -> str:
    """The host name of an address without its port; empty if it is malformed."""
    try:
        parts = urlsplit(address)
        _ = parts.port
    except ValueError:
        return ""
    if parts.path or parts.query or parts.fragment or parts.username is not None:
        return ""
    return parts.hostname or ""
