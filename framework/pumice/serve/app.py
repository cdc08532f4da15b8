"""Answers requests: the page, the API, and what plugins serve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, unquote

import msgspec

from pumice import __version__
from pumice.errors import PumiceError, described
from pumice.explain import ExplainedCycle
from pumice.log import logger
from pumice.model.quantity import PODS
from pumice.serve.access import Access
from pumice.serve.api import POSTED, ROUTES, Route, default_resource
from pumice.serve.history import History, UnknownError
from pumice.serve.query import BadRequestError, Query

HTML, JSON, TEXT = "text/html; charset=utf-8", "application/json", "text/plain; charset=utf-8"
_TYPES = {
    ".html": HTML,
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; object-src 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_OPEN = ("/static/style.css", "/static/icon.svg")
"""What is sent without the token: the form that asks for it."""


@dataclass(frozen=True, slots=True)
class Response:
    """What is sent back."""

    body: bytes
    kind: str = JSON
    """The content type."""
    status: int = HTTPStatus.OK
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers with those that every answer has."""
        given = {"Content-Type": self.kind, "Content-Length": str(len(self.body))}
        return {**_HEADERS, **given, **self.headers}


class App:
    """One server's answers, without the network."""

    def __init__(self, history: History, access: Access, about: Mapping[str, Any]) -> None:
        """``about`` is what the page says of the input."""
        self.history = history
        self.access = access
        self._about = about
        self._static = _static_files()

    def respond(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes = b""
    ) -> Response:
        """The answer to one request; never raises."""
        try:
            path, _, query = target.partition("?")
            refused = self._refused(method, path, query, headers)
            if refused is not None:
                return refused
            if method in ("GET", "HEAD"):
                return self._get(path, query)
            if method == "POST":
                return self._post(path, query, headers, body)
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, f"{method} is not answered here", "GET")
        except BadRequestError as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error), error.hint)
        except UnknownError as error:
            return _error(HTTPStatus.NOT_FOUND, str(error), error.hint)
        except PumiceError as error:
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, str(error), error.hint)
        except Exception as error:
            logger.opt(exception=error).error("{} {} failed", method, target)
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, described(error), "this is a bug")

    def _refused(
        self, method: str, path: str, query: str, headers: Mapping[str, str]
    ) -> Response | None:
        """The answer to a request that may not be made; None: it may."""
        if not self.access.allows_host(headers):
            where = f"http://127.0.0.1:{self.access.port}/"
            text = f"the Host header {headers.get('Host')!r} is not that of this server"
            return _error(HTTPStatus.MISDIRECTED_REQUEST, text, f"open {where}")
        if path in _OPEN or (method, path) == ("POST", "/login") or self.access.admits(headers):
            return None
        if path == "/":
            given = parse_qs(query).get("token", [""])[0]
            return self._logged_in(given)
        answer = _error(
            HTTPStatus.UNAUTHORIZED,
            "this server demands its token",
            "send the header 'Authorization: Bearer TOKEN', or log in on the page",
        )
        return Response(answer.body, JSON, answer.status, {"WWW-Authenticate": "Bearer"})

    def _logged_in(self, given: str) -> Response:
        """Store the token in the browser, or ask for it."""
        if self.access.token and self.access.matches(given):
            stored = {"Location": "/", "Set-Cookie": self.access.set_cookie}
            return Response(b"", TEXT, HTTPStatus.SEE_OTHER, stored)
        return Response(self._static["login.html"].body, HTML, HTTPStatus.UNAUTHORIZED)

    def _get(self, path: str, query: str) -> Response:
        if path == "/":
            return self._static["index.html"]
        if path.startswith("/static/"):
            found = self._static.get(path.removeprefix("/static/"))
            return found or _not_found(path)
        if path == "/api/about":
            return _json(self._page_facts())
        if path.startswith("/api/"):
            return self._api(ROUTES, path.removeprefix("/api/"), query)
        return self._plugin(path, query)

    def _post(self, path: str, query: str, headers: Mapping[str, str], body: bytes) -> Response:
        if not self.access.allows_origin(headers):
            return _error(HTTPStatus.FORBIDDEN, "the request comes from another site", "")
        if path == "/login":
            given = parse_qs(body.decode("utf-8", "replace")).get("token", [""])[0]
            return self._logged_in(given.strip())
        if path == "/api/cycles" and self.history.live:
            text = "the cycles of a live cluster are run when it changes"
            return _error(HTTPStatus.METHOD_NOT_ALLOWED, text, "GET /api/cycles lists them")
        if path == "/api/cycles":
            view = self.history.run_cycle()
            return _json({"cycle": view.cycle}, HTTPStatus.CREATED)
        if path.startswith("/api/changes/"):
            return self._api(POSTED, path.removeprefix("/api/"), query)
        return _error(HTTPStatus.METHOD_NOT_ALLOWED, f"{path[:300]} takes no POST", "GET")

    def _page_facts(self) -> dict[str, Any]:
        view = self.history.view()
        return {
            **self._about,
            "version": __version__,
            "live": self.history.live,
            "policy": self.history.scheduler.policy.origin,
            "actions": [entry.name for entry in self.history.scheduler.policy.actions],
            "resource": default_resource(view),
            "resources": [{"name": name, "unit": _unit(name)} for name in view.resources],
            "handlers": view.handlers,
        }

    def _api(self, routes: Mapping[str, Route], path: str, query: str) -> Response:
        name, slash, rest = path.partition("/")
        route = routes.get(name + slash)
        if route is None or (slash and not rest):
            listed = ", ".join(f"/api/{name}" for name in ("about", *routes))
            return _error(HTTPStatus.NOT_FOUND, f"there is no /api/{unquote(path)[:300]}", listed)
        parameters = Query.parse(query, route.parameters)
        return _json(route.answer(self.history, parameters, unquote(rest)))

    def _plugin(self, path: str, query: str) -> Response:
        """What a plugin serves at this path about a cycle."""
        if path not in self.history.view().handlers:
            return _not_found(path)
        cycle = Query.parse(query, ("cycle",)).number("cycle", None, 0, 10**9)

        def call(explained: ExplainedCycle) -> Any:
            handler: Callable[[], Any] = explained.session.ask.http_handlers()[path]
            return handler()

        return _of_plugin(self.history.read(cycle, call), path)


def _of_plugin(answer: Any, path: str) -> Response:
    """Bytes are a file, text is text, all else is JSON; none of it is run by a browser."""
    if isinstance(answer, bytes | bytearray):
        is_zip = answer[:2] == b"PK"
        name = path.strip("/").replace("/", "-") + (".zip" if is_zip else ".bin")
        kind = "application/zip" if is_zip else "application/octet-stream"
        safe = "".join(c for c in name if c.isascii() and (c.isalnum() or c in "-_."))
        return Response(
            bytes(answer), kind, headers={"Content-Disposition": f'attachment; filename="{safe}"'}
        )
    if isinstance(answer, str):
        return Response(answer.encode(), TEXT)
    return _json(answer)


def _unit(name: str) -> str:
    """How the page prints amounts of a resource: ``bytes``, ``count`` or ``milli``."""
    if name in ("memory", "ephemeral-storage"):
        return "bytes"
    return "count" if name == PODS else "milli"


def _json(data: Any, status: int = HTTPStatus.OK) -> Response:
    return Response(msgspec.json.encode(data, enc_hook=str), JSON, status)


def _error(status: int, text: str, hint: str) -> Response:
    allow = {"Allow": "GET, HEAD, POST"} if status == HTTPStatus.METHOD_NOT_ALLOWED else {}
    answer = _json({"error": text, "hint": hint}, status)
    return Response(answer.body, JSON, status, allow)


def _not_found(path: str) -> Response:
    return _error(HTTPStatus.NOT_FOUND, f"there is no {unquote(path)[:300]}", "the page is at /")


def _static_files() -> dict[str, Response]:
    """The files of the page; only these can be asked for."""
    folder = resources.files("pumice.serve").joinpath("static")
    return {
        file.name: Response(file.read_bytes(), kind, headers={"Cache-Control": "no-cache"})
        for file in folder.iterdir()
        if (kind := _TYPES.get(file.name[file.name.rfind(".") :])) is not None
    }
