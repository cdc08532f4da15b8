"""Tables that fit a width: cells wrap between words, or are cut to one line for each row.

Rich's tables take longer to lay out 18,000 rows than the scheduler takes to decide them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click
from rich.cells import cell_len, set_cell_size

GAP = 2
"""Spaces between two columns."""
_ELLIPSIS = "…"


class Table:
    """Rows of plain text under a header, without borders. The first column does not wrap.

    ``right`` names the columns of numbers. ``styles`` has the colour of a column's cells, or the
    colours of their texts.
    """

    def __init__(
        self,
        *columns: str,
        right: Sequence[str] = (),
        styles: Mapping[str, str | Mapping[str, str]] | None = None,
    ) -> None:
        self.columns = columns
        self.rows: list[list[str]] = []
        self._last_layout: tuple[object, tuple[Any, list[int]]] | None = None
        self._right = [column in right for column in columns]
        self._colours = [(styles or {}).get(column) for column in columns]

    def add(self, *cells: Any) -> None:
        """Add a row; None is an empty cell."""
        self.rows.append([_plain(cell) for cell in cells])

    def lines(
        self,
        width: int | None,
        *,
        one_line: bool = False,
        colour: bool = False,
        only: slice | None = None,
    ) -> Iterator[str]:
        """The lines of the table, without trailing spaces; ``width`` None: as wide as needed.

        With ``one_line``, each row is one line and what does not fit ends with an ellipsis.
        ``only``: of the rows these, in columns that are wide enough for all.
        """
        has_head = any(self.columns)
        rows = [list(self.columns), *self.rows] if has_head else self.rows
        if not rows:
            return
        measure, widths = self._layout(rows, width, one_line)
        if only is not None:
            rows = [*rows[:has_head], *self.rows[only]]
        for number, row in enumerate(rows):
            is_head = number == 0 and has_head
            cells = [
                _fold(cell, room, measure, one_line) for cell, room in zip(row, widths, strict=True)
            ]
            for height in range(max(map(len, cells))):
                yield self._line(cells, height, widths, measure, is_head, colour)

    def _line(
        self,
        cells: list[list[str]],
        height: int,
        widths: list[int],
        measure: Any,
        is_head: bool,
        colour: bool,
    ) -> str:
        texts = [cell[height] if height < len(cell) else "" for cell in cells]
        last = max((column for column, text in enumerate(texts) if text), default=-1)
        parts = []
        for column, text in enumerate(texts[: last + 1]):
            spaces = " " * (widths[column] - measure(text))
            if colour and text and (is_head or self._colours[column]):
                text = click.style(text, fg=self._colour(column, text), bold=is_head or None)
            if self._right[column]:
                text = spaces + text
            elif column < last:
                text += spaces
            parts.append(text)
        return (" " * GAP).join(parts).rstrip()

    def _colour(self, column: int, text: str) -> str | None:
        colour = self._colours[column]
        return colour.get(text) if isinstance(colour, Mapping) else colour

    def _layout(
        self, rows: list[list[str]], width: int | None, one_line: bool
    ) -> tuple[Any, list[int]]:
        """How texts are measured, and the widths of the columns; stored for the next page."""
        key = (len(rows), width, one_line)
        if self._last_layout is None or self._last_layout[0] != key:
            ascii_only = all(cell.isascii() for row in rows for cell in row)
            measure = len if ascii_only else cell_len
            self._last_layout = key, (measure, self._widths(rows, width, measure, one_line))
        return self._last_layout[1]

    def _widths(
        self, rows: list[list[str]], width: int | None, measure: Any, one_line: bool
    ) -> list[int]:
        columns = list(zip(*rows, strict=True))
        natural = [max(_longest(cell, "\n", measure) for cell in column) for column in columns]
        room = None if width is None else max(width - GAP * (len(columns) - 1), len(columns))
        if room is None or sum(natural) <= room:
            return natural
        if one_line:
            least = [*natural[:-1], min(natural[-1], 10)]
        else:
            words = [max(_longest(cell, None, measure) for cell in column) for column in columns]
            least = [natural[0], *words[1:]]
        if sum(least) > room:
            natural, least = least, [min(amount, 1) for amount in least]
        return _share(natural, least, room)


def _share(natural: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Widths between the least and the natural ones, the widest columns shortened first."""
    for cap in range(max(natural), -1, -1):
        widths = [max(low, min(high, cap)) for low, high in zip(least, natural, strict=True)]
        if sum(widths) <= room:
            break
    for column in reversed(range(len(widths))):
        spare = room - sum(widths)
        if spare > 0 and widths[column] < natural[column]:
            widths[column] += min(spare, natural[column] - widths[column])
    return widths


def _longest(cell: str, separator: str | None, measure: Any) -> int:
    return max(map(measure, cell.split(separator)), default=0)


def _fold(cell: str, room: int, measure: Any, one_line: bool) -> list[str]:
    """The lines of a cell."""
    if measure(cell) <= room and "\n" not in cell:
        return [cell]
    if one_line:
        first = cell.partition("\n")[0]
        short = set_cell_size(first, max(room - 1, 0)).rstrip()
        return [first if measure(cell) <= room else short + _ELLIPSIS]
    lines: list[str] = []
    for line in cell.split("\n"):
        lines += textwrap.wrap(line, max(room, 1), break_on_hyphens=False) or [""]
    return lines


def _plain(cell: Any) -> str:
    """The text of a cell without control characters, which could steer a terminal."""
    text = "" if cell is None else str(cell)
    if text.isprintable():
        return text
    return "".join(sign for sign in text if sign == "\n" or sign.isprintable())
