"""When a cycle is due, and what a standby forgets."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_auth import config

from pumice import EvictionLog, PumiceError, load_policy
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
