"""Plots as SVG; colours are classes, so that a page can be light or dark."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 720, 260
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 12, 12, 34
_DAY = 86400.0


class Line(NamedTuple):
    """One line of a plot."""

    name: str
    """The name in the legend."""
    xs: Sequence[float]
    ys: Sequence[float]
    style: str
    """A class: ``c0`` to ``c7`` for colours, ``limit`` for a dashed line."""
    steps: bool = False
    """Whether the value stays until the next one."""


class Axis(NamedTuple):
    """How values are placed and written along an axis."""

    low: float
    high: float
    label: str
    shown: Callable[[float], str]
    log: bool = False
    marks: tuple[float, ...] = ()
    """Where marks are drawn; empty: at round numbers."""

    def place(self, value: float) -> float:
        """Where a value lies, from 0 to 1."""
        if self.log:
            low, high = math.log10(self.low), math.log10(self.high)
            return (math.log10(max(value, self.low)) - low) / ((high - low) or 1)
        return (value - self.low) / ((self.high - self.low) or 1)

    def ticks(self) -> list[float]:
        """Where marks are drawn."""
        if self.marks:
            return [mark for mark in self.marks if self.low <= mark <= self.high]
        if self.log:
            first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        span = self.high - self.low
        if span <= 0:
            return [self.low]
        step = 10 ** math.floor(math.log10(span / 4))
        step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= 5)
        first = math.ceil(self.low / step)
        return [n * step for n in range(first, math.floor(self.high / step + 1e-9) + 1)]


def plot(
    lines: Sequence[Line], x: Axis, y: Axis, *, title: str, width: int = WIDTH, height: int = HEIGHT
) -> str:
    """A plot of lines with both axes."""
    inner_width, inner_height = width - _LEFT - _RIGHT, height - _TOP - _BOTTOM

    def at(px: float, py: float) -> tuple[float, float]:
        across = _LEFT + inner_width * x.place(px)
        down = _TOP + inner_height * (1 - y.place(py))
        return round(across, 1), round(down, 1)

    parts = [
        f'<svg class="plot" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>'
    ]
    for tick in y.ticks():
        _, down = at(x.low, tick)
        parts.append(f'<path class="grid" d="M{_LEFT} {down}H{width - _RIGHT}"/>')
        parts.append(
            f'<text class="tick" x="{_LEFT - 6}" y="{down + 4}" text-anchor="end">'
            f"{escape(y.shown(tick))}</text>"
        )
    for tick in x.ticks():
        across, _ = at(tick, y.low)
        parts.append(
            f'<text class="tick" x="{across}" y="{height - _BOTTOM + 16}" text-anchor="middle">'
            f"{escape(x.shown(tick))}</text>"
        )
    parts.append(
        f'<path class="axis" d="M{_LEFT} {_TOP}V{height - _BOTTOM}H{width - _RIGHT}"/>'
        f'<text class="tick" x="{width - _RIGHT}" y="{height - 4}" text-anchor="end">'
        f"{escape(x.label)}</text>"
        f'<text class="tick" x="{_LEFT + 6}" y="{_TOP + 10}">{escape(y.label)}</text>'
    )
    for line in lines:
        path = _path([at(a, b) for a, b in zip(line.xs, line.ys, strict=True)], line.steps)
        parts.append(
            f'<path class="line {line.style}" d="{path}"><title>{escape(line.name)}</title></path>'
        )
    return "".join([*parts, "</svg>"])


def _path(points: Sequence[tuple[float, float]], steps: bool) -> str:
    if not points:
        return ""
    text = [f"M{points[0][0]:g} {points[0][1]:g}"]
    for across, down in points[1:]:
        text.append(f"H{across:g}V{down:g}" if steps else f"L{across:g} {down:g}")
    return "".join(text)


def legend(names: Sequence[tuple[str, str]]) -> str:
    """A legend: style and name of each line."""
    items = "".join(
        f'<li><svg viewBox="0 0 24 8"><path class="line {style}" d="M0 4H24"/></svg>'
        f"{escape(name)}</li>"
        for style, name in names
    )
    return f'<ul class="legend">{items}</ul>'


def duration_text(seconds: float) -> str:
    """Seconds for people: 5s, 3m, 2h, 4d."""
    for size, unit in ((_DAY, "d"), (3600.0, "h"), (60.0, "m")):
        if seconds >= size:
            return f"{seconds / size:.3g}{unit}"
    return f"{seconds:.3g}s"


def standalone(drawing: str, style: str) -> str:
    """A plot as a file of its own."""
    return drawing.replace(
        '<svg class="plot"', '<svg xmlns="http://www.w3.org/2000/svg" class="plot"', 1
    ).replace("<title>", f"<style>{style}</style><title>", 1)


def delay_axis(longest: float) -> Axis:
    """Delays from a second on, by powers."""
    marks = (1.0, 10.0, 60.0, 600.0, 3600.0, 21600.0, _DAY, 7 * _DAY, 30 * _DAY)
    return Axis(1.0, max(longest, 10.0), "delay", duration_text, log=True, marks=marks)


def day_axis(end: float) -> Axis:
    """Time since the start of the trace, in days or hours."""
    size, unit = (_DAY, "days") if end > 3 * _DAY else (3600.0, "hours")
    return Axis(0.0, end / size, f"{unit} since the start", lambda value: f"{value:g}")


def day_scale(end: float) -> float:
    """Seconds in the unit of :func:`day_axis`."""
    return _DAY if end > 3 * _DAY else 3600.0
