"""Line charts side by side, as an SVG that needs nothing from the page around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

Points = Sequence[tuple[float, float]]

WIDTH, HEIGHT = 260, 320
"""Of one panel."""
_TOP, _BOTTOM, _LEFT, _RIGHT = 78, 268, 46, 26
_TICKS = 4
_INK, _FAINT, _GRID = "#1f2933", "#52606d", "#e4e7eb"
COLOURS = ("#c2410c", "#1d4ed8", "#7c3aed", "#047857")


@dataclass(frozen=True)
class Panel:
    """One chart: cost over one quantity."""

    title: str
    across: str
    """What is counted from left to right."""
    lines: Mapping[str, Points]


def draw(title: str, upwards: str, panels: Sequence[Panel]) -> str:
    """The picture. A line of the same name has the same colour in every panel."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    colours = dict(zip(names, COLOURS, strict=False))
    whole = WIDTH * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {HEIGHT}" '
        f'font-family="sans-serif" font-size="12" fill="{_INK}" role="img" '
        f'aria-label="{escape(title)}">',
        f'<rect width="{whole}" height="{HEIGHT}" rx="6" fill="#ffffff"/>',
        *_legend(colours),
    ]
    for number, panel in enumerate(panels):
        parts.append(f'<g transform="translate({number * WIDTH:g} 0)">')
        parts += _panel(panel, WIDTH, colours, upwards)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _legend(colours: Mapping[str, str]) -> Iterator[str]:
    x = 14.0
    for name, colour in colours.items():
        yield f'<line x1="{x:g}" y1="20" x2="{x + 22:g}" y2="20" stroke="{colour}" '
        yield 'stroke-width="2.5"/>'
        yield f'<circle cx="{x + 11:g}" cy="20" r="3.5" fill="{colour}"/>'
        yield _text(x + 28, 24, name)
        x += 48 + 6.6 * len(name)


def _panel(panel: Panel, width: float, colours: Mapping[str, str], upwards: str) -> Iterator[str]:
    points = [point for line in panel.lines.values() for point in line]
    steps_x, steps_y = (ticks(max(point[axis] for point in points)) for axis in (0, 1))
    left, right = _LEFT, width - _RIGHT

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            left + (right - left) * x / steps_x[-1],
            _BOTTOM - (_BOTTOM - _TOP) * y / steps_y[-1],
        )

    yield _text(14, 48, panel.title, 'font-weight="bold"')
    yield _text(14, 65, upwards, f'fill="{_FAINT}"')
    for value in steps_y:
        _, y = at(0, value)
        yield f'<line x1="{left:g}" y1="{y:.1f}" x2="{right:g}" y2="{y:.1f}" stroke="{_GRID}"/>'
        yield _text(left - 6, y + 4, f"{value:g}", f'text-anchor="end" fill="{_FAINT}"')
    for value in steps_x:
        x, _ = at(value, 0)
        yield _text(x, _BOTTOM + 17, f"{value:,g}", f'text-anchor="middle" fill="{_FAINT}"')
    middle = (left + right) / 2
    yield _text(middle, _BOTTOM + 38, panel.across, f'text-anchor="middle" fill="{_FAINT}"')
    for name, line in panel.lines.items():
        places = [at(x, y) for x, y in line]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        yield f'<polyline points="{path}" fill="none" stroke="{colours[name]}" stroke-width="2"/>'
        for (x, y), (across, up) in zip(places, line, strict=True):
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colours[name]}">'
            yield f"<title>{escape(name)}: {across:,g}, {up:.3g} s</title></circle>"


def ticks(most: float) -> list[float]:
    """Round numbers from zero up to the first one that is not below ``most``."""
    rough = max(most, 1e-9) / _TICKS
    size = 10 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough)
    return [round(step * number, 12) for number in range(math.ceil(most / step - 1e-9) + 1)]


def _text(x: float, y: float, text: str, style: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {style}>{escape(text)}</text>'
