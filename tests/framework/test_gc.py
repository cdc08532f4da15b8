"""The pause of the cyclic garbage collector."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from pumice import _gc
from pumice._gc import collect_if_due, gc_paused


class _Circle:
    def __init__(self) -> None:
        self.own = self


@pytest.fixture(autouse=True)
def enabled() -> Iterator[None]:
    """These tests compare what the collector does, so that it starts from the same state."""
    gc.collect()
    gc.enable()
    yield
    gc.unfreeze()
    gc.enable()


def test_the_collector_is_paused_and_enabled_again() -> None:
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    with gc_paused():
        pass
    assert not gc.isenabled()


def test_the_end_of_a_pause_looks_at_no_object() -> None:
    collections: list[int] = []

    def seen(phase: str, info: dict[str, int]) -> None:
        collections.append(info["generation"])

    gc.callbacks.append(seen)
    try:
        with gc_paused():
            objects = [[number] for number in range(10_000)]
        assert gc.get_count()[0] < 1000
        assert not collections
    finally:
        gc.callbacks.remove(seen)
    assert len(objects) == 10_000


def test_garbage_of_pauses_is_collected_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gc, "_unseen", _gc._Unseen())
    monkeypatch.setattr(_gc, "_LEAST", 5000)
    with gc_paused():
        garbage = weakref.ref(_Circle())
    collect_if_due()
    assert garbage() is not None, "so few objects are not worth a collection"
    with gc_paused():
        objects = [[number] for number in range(10_000)]
    collect_if_due()
    assert garbage() is None
    with gc_paused():
        garbage = weakref.ref(_Circle())
        objects += [[number] for number in range(6000)]
    collect_if_due()
    assert garbage() is not None, "they are less than a quarter of all objects"


def test_frozen_objects_of_an_application_stay_frozen() -> None:
    gc.freeze()
    with gc_paused():
        pass
    assert gc.get_freeze_count() > 0
