"""The lines of the page: totals, the three panes and the keys, in the size of the terminal."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import click
from rich.cells import set_cell_size

from pumice._times import timestamp
from pumice.cli.top.panes import (
    NAMES,
    STATES,
    Pane,
    bar,
    job_state,
    main_resources,
    make_pane,
    short_name,
)
from pumice.cli.top.state import State
from pumice.model.quantity import PODS, shown
from pumice.serve.api import default_resource
from pumice.serve.views import CycleView

KEYS = "q quit  space pause  tab pane  ↑↓ row  enter explain  / filter  r resource  ?"
LEAST_COLUMNS, LEAST_LINES = 40, 12
MOST = 20
"""Rows of each table in plain text; what is left out is counted."""
_SMALL = 3
"""Rows of a pane that is not the current one, where the screen is small."""


@dataclass(frozen=True, slots=True)
class Content:
    """What the page is about."""

    title: str
    view: CycleView
    seconds: float | None = None
    """How long the cycle took."""
    notice: str = ""
    """The last warning or fault."""
    running: bool = True
    """Whether more cycles will come."""


class Page:
    """Makes lines; tables are made again only for another cycle, filter or resource."""

    def __init__(self) -> None:
        self._panes: dict[str, tuple[tuple[int, str, str], Pane]] = {}
        self.height = 1
        """Rows of the current pane when the page was last made."""

    def pane(self, state: State, view: CycleView, name: str) -> Pane:
        """One of the three."""
        text = state.positions[name].filter
        if state.typing is not None and name == state.pane:
            text = state.typing
        wanted = (view.cycle, resource_of(state, view), text)
        made = self._panes.get(name)
        if made is None or made[0] != wanted:
            made = wanted, make_pane(name, view, wanted[1], text)
            self._panes[name] = made
        return made[1]

    def lines(
        self,
        state: State,
        content: Content | None,
        columns: int,
        lines: int,
        *,
        colour: bool = True,
    ) -> list[str]:
        """Exactly so many lines, none wider than the columns."""
        if columns < LEAST_COLUMNS or lines < LEAST_LINES:
            text = f"pumice top needs {LEAST_COLUMNS} columns and {LEAST_LINES} lines"
            return _fill([_cut(text, columns)], lines)
        last = _last_line(state, columns)
        if content is None:
            return [*_fill(["pumice top: the first cycle is being decided"], lines - 1), last]
        head = list(_head(state, content, columns, colour))
        room = lines - len(head) - 1
        if state.text:
            body = _scrolled(state, columns, room)
        else:
            body = self._body(state, content.view, columns, room, colour)
        return [*head, *_fill(body, room), last]

    def _body(
        self, state: State, view: CycleView, columns: int, room: int, colour: bool
    ) -> list[str]:
        panes = {name: self.pane(state, view, name) for name in NAMES}
        heights = _heights({name: len(pane.keys) for name, pane in panes.items()}, state.pane, room)
        self.height = max(heights[state.pane], 1)
        lines: list[str] = []
        for name, pane in panes.items():
            lines += ["", *_pane_lines(state, name, pane, columns, heights[name], colour)]
        return lines


def resource_of(state: State, view: CycleView) -> str:
    """The resource that is shown."""
    return state.resource if state.resource in view.resources else default_resource(view)


def plain_page(content: Content, columns: int | None, *, full: bool = False) -> Iterator[str]:
    """The page as plain text, not wider than the columns; None: as wide as it is."""
    state = State()
    view = content.view
    yield from (line.rstrip() for line in _head(state, content, columns, False))
    for name in NAMES:
        pane = make_pane(name, view, resource_of(state, view))
        if pane.keys:
            yield ""
            most = None if full else MOST
            yield from pane.table.lines(columns, one_line=True, only=slice(most))
            if most is not None and len(pane.keys) > most:
                yield f"… and {len(pane.keys) - most:,} more {name}"


def _head(state: State, content: Content, columns: int | None, colour: bool) -> Iterator[str]:
    view = content.view
    mode = "paused" if state.paused else "" if content.running else "ended"
    evicted = sum(len(row.tasks) for row in view.evictions)
    tasks = f"{view.bound:,} bound, {evicted:,} evicted, {view.pipelined:,} promised"
    line = f"{content.title}  {f'[{mode}]  ' * bool(mode)}cycle {view.cycle:,}: {tasks}"
    if content.seconds is not None:
        line += f" (decided in {_duration(content.seconds)})"
    yield click.style(_cut(line, columns), bold=True) if colour else _cut(line, columns)
    states = Counter(map(job_state, view.jobs))
    jobs = ", ".join(f"{states[word]:,} {word}" for word in STATES if states[word])
    yield _cut(f"{timestamp(view.now)}  jobs: {jobs or 'none'}", columns)
    yield _cut("  ".join(_totals(state, view)), columns)
    notice = view.faults[-1] if view.faults else content.notice
    if notice:
        text = _cut(f"! {notice}", columns)
        yield click.style(text, fg="red") if colour else text


def _totals(state: State, view: CycleView) -> Iterator[str]:
    chosen = resource_of(state, view)
    for name in [chosen, *(each for each in main_resources(view) if each != chosen)]:
        column = view.dimensions.index(name)
        has = view.nodes.allocatable[:, column].sum()
        used = view.nodes.pods.sum() if name == PODS else view.nodes.used[:, column].sum()
        amounts = f"{shown(name, used)}/{shown(name, has)}"
        part = f"{bar(used / has)} " if has and name == chosen else ""
        yield f"{short_name(name).lower()}: {part}{amounts}"
    yield f"nodes: {len(view.nodes.names):,}"


def _pane_lines(
    state: State, name: str, pane: Pane, columns: int, height: int, colour: bool
) -> Iterator[str]:
    position = state.positions[name]
    selected = position.find(pane.keys)
    first = max(0, min(selected - height // 2, len(pane.keys) - height))
    head, *rows = pane.table.lines(
        columns, one_line=True, colour=colour, only=slice(first, first + height)
    )
    is_current = name == state.pane
    yield _pane_head(click.unstyle(head), _counted(state, name, pane), columns, is_current)
    for number, row in enumerate(rows, first):
        if is_current and number == selected:
            yield click.style(_cut(click.unstyle(row), columns, fill=True), reverse=True)
        else:
            yield row


def _counted(state: State, name: str, pane: Pane) -> str:
    if state.typing is not None and name == state.pane:
        text = state.typing
    else:
        text = state.positions[name].filter
    count = f"{len(pane.keys):,} of {pane.total:,}" if text else f"{pane.total:,}"
    return f"{count} {name}"


def _pane_head(head: str, counted: str, columns: int, is_current: bool) -> str:
    """The heads of the columns, and at the right how many rows there are, if there is room."""
    gap = columns - len(head) - len(counted)
    line = head + " " * gap + counted if gap > 1 else head
    line = _cut(line, columns, fill=True)
    return click.style(line, bold=True, underline=is_current)


def _heights(rows: dict[str, int], current: str, room: int) -> dict[str, int]:
    """How many rows each pane shows: the current one gets what the others leave."""
    free = room - 2 * len(rows)
    small = max(_SMALL, free // 4)
    heights = {name: min(count, small) for name, count in rows.items() if name != current}
    heights[current] = min(rows[current], free - sum(heights.values()))
    for name in rows:
        spare = free - sum(heights.values())
        heights[name] = min(rows[name], heights[name] + spare)
    return heights


def _scrolled(state: State, columns: int, room: int) -> list[str]:
    lines = [""]
    for line in state.text.splitlines():
        inner = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(line, columns, subsequent_indent=inner) or [""]
    state.scroll = min(state.scroll, max(0, len(lines) - room))
    return [_cut(line, columns) for line in lines[state.scroll : state.scroll + room]]


def _last_line(state: State, columns: int) -> str:
    if state.typing is not None:
        return _cut(f"filter {state.pane}: {state.typing}█  (enter: apply, esc: cancel)", columns)
    if state.text:
        return _cut("esc close  ↑↓ scroll  space pause", columns)
    applied = state.position.filter
    text = f"filter: {applied} (esc drops it)  {KEYS}" if applied else KEYS
    return _cut(text, columns)


def _cut(text: str, columns: int | None, *, fill: bool = False) -> str:
    """One line of printable characters, cut to the columns."""
    text = "".join(sign if sign.isprintable() else " " for sign in text)
    if columns is None:
        return text
    sized = set_cell_size(text, columns)
    return sized if fill else sized.rstrip()


def _fill(lines: list[str], count: int) -> list[str]:
    return [*lines[:count], *[""] * (count - len(lines))]


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
