"""Progress on the standard error: what is being done, how fast, how long the rest will take."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import Self

_WIDTH = 30
_EVERY = 0.2
DELAY = 1.0
"""What takes less seconds shows no progress."""


class Progress:
    """Shows after a second how much is done; only on a terminal that can erase a line."""

    def __init__(self, doing: str, unit: str = "", total: int = 0, *, ticks: bool = False) -> None:
        """Of ``total`` units, or of an unknown number.

        With ``ticks`` the line is renewed between updates, too, by a thread: not for commands that
        start processes.
        """
        self._doing, self._unit, self._total, self._ticks = doing, unit, total, ticks
        self._done = 0
        self._begin = monotonic()
        self._active = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._drawn = False
        self._next = self._begin + DELAY
        self._lock = Lock()
        self._ended = Event()

    def __enter__(self) -> Self:
        if self._active and self._ticks:
            Thread(target=self._draw_on, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with self._lock:
            self._erase()

    def update(self, done: int, total: int | None = None) -> None:
        """So many units are done."""
        self._done = done
        if total is not None:
            self._total = total
        if self._active and monotonic() >= self._next:
            with self._lock:
                self._draw()

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """While something else is printed."""
        with self._lock:
            self._erase()
            yield

    def _draw_on(self) -> None:
        wait = DELAY
        while not self._ended.wait(wait):
            wait = _EVERY
            with self._lock:
                if not self._ended.is_set():
                    self._draw()

    def _draw(self) -> None:
        now = monotonic()
        text = line(self._doing, self._done, self._total, now - self._begin, self._unit)
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._drawn, self._next = True, now + _EVERY

    def _erase(self) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False


def line(doing: str, done: int, total: int, seconds: float, unit: str = "") -> str:
    """The line after so many seconds."""
    if not done or not total:
        of = f"  0/{total:,} {unit}" if total else ""
        return f"{doing}{of}  {_clock(seconds)}"
    part, rate = done / total, done / seconds
    filled = round(part * _WIDTH)
    bar = "━" * filled + "·" * (_WIDTH - filled)
    left = _clock((total - done) / rate)
    return f"{doing} {bar} {part:4.0%}  {done:,}/{total:,} {unit}  {rate:,.3g}/s  {left} left"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
