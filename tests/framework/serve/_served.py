"""Histories and apps for the tests of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.cli._cluster import adopt_pods, advance
from pumice.config import Policy, load_policy
from pumice.model.facts import Inventory
from pumice.scheduler import Scheduler
from pumice.serve.access import Access
from pumice.serve.app import App, Response
from pumice.serve.history import History

DEMO = Path(__file__).resolve().parents[3] / "docs" / "examples" / "demo"
LOCAL = {"Host": "127.0.0.1:8642"}


def history_of(backend: MemoryBackend, policy: Policy, cycles: int = 1, **bounds: int) -> History:
    def between() -> None:
        advance(backend, policy)

    history = History(Scheduler(backend, policy, fresh=True), between, **bounds)
    for _ in range(cycles):
        history.run_cycle()
    return history


def demo_history(cycles: int = 2, **bounds: int) -> History:
    policy = load_policy(DEMO / "policy.toml")
    backend = MemoryBackend.from_files([DEMO])
    adopt_pods(backend, policy)
    return history_of(backend, policy, cycles, **bounds)


def cluster_history(fill: Callable[[Inventory], None], policy: Policy, cycles: int = 1) -> History:
    inventory = Inventory()
    fill(inventory)
    return history_of(MemoryBackend(inventory), policy, cycles)


@dataclass
class Client:
    """Asks an app as a browser would."""

    app: App

    def __call__(
        self, target: str, method: str = "GET", body: bytes = b"", **headers: str
    ) -> Response:
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.app.respond(method, target, {**LOCAL, **given}, body)

    def json(self, target: str, status: int = 200, **more: Any) -> Any:
        response = self(target, **more)
        assert response.status == status, response.body
        return json.loads(response.body)


def client_of(history: History, host: str = "127.0.0.1", token: str = "") -> Client:
    access = Access(host, 8642, token)
    return Client(App(history, access, {"files": ["demo"], "warnings": []}))
