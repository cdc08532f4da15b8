"""A progress bar on the standard error."""

from __future__ import annotations

import sys
from time import monotonic
from typing import Self

_WIDTH = 30
_EVERY = 0.2


class ProgressBar:
    """Shows how much is done, how fast, and how long the rest will take; only on a terminal."""

    def __init__(self, unit: str = "jobs") -> None:
        self._unit = unit
        self._begin = monotonic()
        self._shown = 0.0
        self._active = sys.stderr.isatty()
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def update(self, done: int, total: int) -> None:
        """So much is done."""
        now = monotonic()
        if not self._active or now - self._shown < _EVERY:
            return
        self._shown, self._drawn = now, True
        sys.stderr.write("\r\x1b[K" + line(done, total, now - self._begin, self._unit))
        sys.stderr.flush()


def line(done: int, total: int, seconds: float, unit: str = "jobs") -> str:
    """The bar after so many seconds."""
    part = done / total if total else 0.0
    rate = done / seconds if seconds > 0 else 0.0
    filled = round(part * _WIDTH)
    left = f"{_clock((total - done) / rate)} left" if rate else "…"
    bar = "━" * filled + "·" * (_WIDTH - filled)
    return f"{bar} {part:4.0%}  {done:,}/{total:,} {unit}  {rate:,.3g}/s  {left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
