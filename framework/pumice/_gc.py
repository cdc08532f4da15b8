"""Pause the cyclic garbage collector during a cycle, and collect between cycles."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_LEAST = 200_000
"""Below so many new objects a collection is not worth its cost."""


@contextmanager
def gc_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: a cycle makes many objects and few reference cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            _unseen.promote()
            gc.enable()


def collect_if_due() -> None:
    """Collect garbage if enough objects were made in pauses since the last time."""
    _unseen.collect_if_due()


class _Unseen:
    """Objects made in pauses, which the collector has not looked at.

    The collector would look at all of them as soon as a pause ends, although nearly all live as
    long as the session. So they join the oldest generation at once, and are looked at when they
    are a quarter of all objects, which is Python's own rule for the oldest generation.
    """

    def __init__(self) -> None:
        self.count = 0
        self._seen = 0

    def promote(self) -> None:
        # An application that has frozen objects itself must not have them unfrozen.
        if gc.get_freeze_count() == 0:
            self.count += gc.get_count()[0]
            gc.freeze()
            gc.unfreeze()

    def collect_if_due(self) -> None:
        if gc.isenabled() and self.count > max(_LEAST, self._seen // 4):
            gc.collect()
            self.count = 0
            self._seen = len(gc.get_objects())


_unseen = _Unseen()
