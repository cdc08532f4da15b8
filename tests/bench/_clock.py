"""Clocks: CPU and wall seconds, the unit of work, and the peak of memory."""

from __future__ import annotations

import cProfile
import gc
import resource
import sys
import time
from collections.abc import Callable

STALE = 10.0
"""After so many seconds a measured unit says nothing any more about a noisy machine."""


class Timing:
    """CPU and wall seconds of what runs inside the block; garbage is collected before it."""

    def __init__(self, profile: cProfile.Profile | None = None) -> None:
        self.profile = profile
        self.cpu = 0.0
        self.wall = 0.0

    def __enter__(self) -> Timing:
        gc.collect()
        if self.profile is not None:
            self.profile.enable()
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self.cpu
        self.wall = time.perf_counter() - self.wall
        if self.profile is not None:
            self.profile.disable()


def unit() -> float:
    """CPU seconds of a fixed piece of work: how fast this machine is, at this moment."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        table: dict[int, int] = {}
        total = 0
        for i in range(1_000_000):
            table[i & 1023] = i
            total += table[i & 511] ^ i
        best = min(best, time.process_time() - start)
    return best


class Units:
    """The unit measured next to a row: measured again whenever the last one is old."""

    def __init__(
        self,
        measure: Callable[[], float] = unit,
        clock: Callable[[], float] = time.monotonic,
        stale: float = STALE,
    ) -> None:
        self._measure = measure
        self._clock = clock
        self._stale = stale
        self._since = float("-inf")
        self.all: list[float] = []

    def near(self) -> float:
        if self._clock() - self._since > self._stale:
            self.all.append(self._measure())
            self._since = self._clock()
        return self.all[-1]


def peak_mib() -> float:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)
