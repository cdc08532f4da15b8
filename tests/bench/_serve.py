"""What the page of ``pumice serve`` costs the server: the dearest request of a click."""

from __future__ import annotations

from http import HTTPStatus

from pumice.backends.memory import MemoryBackend
from pumice.scheduler import Scheduler
from pumice.serve.access import Access
from pumice.serve.app import App
from pumice.serve.history import History
from tests.bench._case import Case, Measured
from tests.bench._clock import Timing
from tests.bench._measure import Profile, policy_of

_CYCLES = 2
"""In the second cycle the claimants wait for the first evictions or try again."""


def clicking(case: Case, number: int, profile: Profile) -> Measured:
    """Run cycles, then ask for everything that a cycle's page shows and for explanations."""
    backend = MemoryBackend(case.cluster(case))

    def between() -> None:
        backend.advance()
        backend.step(1)

    history = History(Scheduler(backend, policy_of(case), fresh=True), between)
    with Timing() as first:
        for _ in range(_CYCLES):
            history.run_cycle()
    app = App(history, Access("127.0.0.1", 8642), {})
    dearest, wrong = Measured(0.0), list[str]()
    for target in _targets(history):
        with Timing(profile) as timing:
            response = app.respond("GET", target, {"Host": "localhost"})
        if timing.cpu > dearest.cpu:
            dearest = Measured(timing.cpu, first.cpu, timing.wall)
        if response.status != HTTPStatus.OK:
            wrong.append(f"{target}: {response.status}")
    return Measured(dearest.cpu, first.cpu, dearest.wall, wrong=tuple(wrong))


def _targets(history: History) -> list[str]:
    view = history.view()
    jobs = {row.state: row.job for row in view.jobs}
    tables = ["queues", "nodes", f"node/{view.nodes.names[0]}", "jobs?q=0&state=running&offset=100"]
    explained = [
        f"explain/{job}?cycle={cycle.cycle}" for job in jobs.values() for cycle in history.views
    ]
    return [f"/api/{target}" for target in ("cycles", "evictions", *tables, *explained)]
