"""When a cycle is due, and what a standby forgets."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_auth import config

from pumice import (
    Bind,
    Decisions,
    EvictionLog,
    JobState,
    PumiceError,
    Reservation,
    load_policy,
)
from pumice_kubernetes.backend import KubernetesBackend


def backend(folder: Path, *, dry_run: bool = False, **options: Any) -> Any:
    """A backend that has read its cluster and never talks to it."""
    policy = load_policy(None, preset="pumice", overrides=["scheduler.period=2"])
    given = {"kubeconfig": str(config(folder, {}, {})), "idle": "20s", **options}
    made: Any = KubernetesBackend.from_options(given, policy, dry_run=dry_run)
    made._thread.start = lambda: None
    made._thread.synced = True
    return made


def test_a_cycle_is_due_when_something_has_changed_and_the_period_is_over(tmp_path: Path) -> None:
    one = backend(tmp_path)
    assert one.wait()  # the first one is due at once
    one.snapshot()
    assert 19 < one._pause() <= 20
    one.store.changes += 1
    assert 1 < one._pause() <= 2
    one._last = time.monotonic() - 3
    assert one._pause() <= 0


RUNS = JobState("x/g", "red", "Running", 8, 0, "")


def test_a_cycle_is_due_seldom_while_nothing_waits(tmp_path: Path) -> None:
    one = backend(tmp_path, dry_run=True)
    one.snapshot()
    one.apply(Decisions(jobs=[RUNS]))
    one._last = time.monotonic()
    assert 299 < one._pause() <= 300
    one.store.changes += 1
    assert one._pause() <= 2


@pytest.mark.parametrize(
    "decisions",
    [
        Decisions(jobs=[RUNS, replace(RUNS, pending=1)]),
        Decisions(jobs=[replace(RUNS, reason="its queue is over its limit")]),
        Decisions(jobs=[replace(RUNS, stale_since=1.0)]),
        Decisions(jobs=[RUNS], binds=[Bind("x/g-0", "u", "n1")]),
        Decisions(eviction_log=EvictionLog({"x/g": Reservation("x/g", (), 1.0)})),
    ],
    ids=["a task waits", "a job waits", "a gang is below its minimum", "a bind", "room is held"],
)
def test_a_cycle_is_due_soon_while_time_may_change_something(
    tmp_path: Path, decisions: Decisions
) -> None:
    one = backend(tmp_path, dry_run=True)
    one.snapshot()
    one.apply(decisions)
    one._last = time.monotonic()
    assert 19 < one._pause() <= 20


def test_a_cycle_is_due_now_and_then_even_if_nothing_changes(tmp_path: Path) -> None:
    one = backend(tmp_path)
    one.snapshot()
    one._last = time.monotonic() - 21
    assert one._pause() <= 0


def test_stopping_ends_the_wait(tmp_path: Path) -> None:
    one = backend(tmp_path)
    one.stop()
    assert not one.wait()


def test_what_ends_the_thread_ends_the_wait(tmp_path: Path) -> None:
    one = backend(tmp_path)
    one._thread.error = PumiceError("the port is used")
    with pytest.raises(PumiceError, match="the port is used"):
        one.wait()


def test_a_standby_waits_and_forgets_what_it_held(tmp_path: Path) -> None:
    one = backend(tmp_path)
    one._thread.lease = SimpleNamespace(is_held=False)
    one.inventory.log = EvictionLog()
    assert one._pause() == 1
    assert one.inventory.log is None
    assert b"pumice_leader 0.0" in one.metrics.text()
    one._thread.lease = SimpleNamespace(is_held=True)
    assert one._pause() <= 0
    assert b"pumice_leader 1.0" in one.metrics.text()


def test_a_dry_run_holds_nothing(tmp_path: Path) -> None:
    one = backend(tmp_path, dry_run=True)
    assert one.snapshot().eviction_log == EvictionLog()
