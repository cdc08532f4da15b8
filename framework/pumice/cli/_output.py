"""Prints tables and JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click
from pydantic_core import to_jsonable_python
from rich.console import Console
from rich.table import Table
from rich.text import Text

_NO_WRAP = 1000
"""Width when the output is not a terminal: one line per row, for grep and logs."""


def print_json(data: Any) -> None:
    plain = to_jsonable_python(data, fallback=str)
    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def print_json_line(data: Any) -> None:
    """Print JSON as one line, which is flushed."""
    plain = to_jsonable_python(data, fallback=str)
    click.echo(json.dumps(plain, ensure_ascii=False))


def make_table(*columns: str) -> Table:
    """A table without borders; long cells wrap."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == columns[0])
    return table


def add_row(table: Table, *cells: Any) -> None:
    """Add a row; cells are plain text, not rich markup."""
    table.add_row(*(Text("" if cell is None else str(cell)) for cell in cells))


def print_table(table: Table) -> None:
    if sys.stdout.isatty():
        Console(highlight=False).print(table)
        return
    width = int(os.environ.get("COLUMNS") or _NO_WRAP)
    console = Console(width=width, highlight=False, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in capture.get().splitlines()))


def print_facts(*facts: tuple[str, Any]) -> None:
    """Print lines of a name and a value; empty values are left out."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in facts:
        if value not in ("", None):
            add_row(table, name, value)
    print_table(table)


def print_heading(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)
