"""Prints tables and JSON."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import click
from pydantic_core import to_jsonable_python

from pumice.cli._table import Table


def print_json(data: Any) -> None:
    plain = to_jsonable_python(data, fallback=str)
    click.echo(json.dumps(plain, indent=2, ensure_ascii=False))


def print_json_line(data: Any) -> None:
    """Print JSON as one line, which is flushed."""
    plain = to_jsonable_python(data, fallback=str)
    click.echo(json.dumps(plain, ensure_ascii=False))


def colour_setting() -> bool | None:
    """False where ``NO_COLOR`` is set or the terminal is dumb; else None: click decides."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return False if plain else None


def width() -> int | None:
    """Columns of the terminal; None where the output is a pipe or a file, for grep and logs."""
    if os.environ.get("COLUMNS", "").isdecimal() or sys.stdout.isatty():
        return shutil.get_terminal_size().columns
    return None


def print_table(table: Table, *, one_line: bool = False) -> None:
    """Print a table; with ``one_line``, what is too long for the terminal is cut."""
    colour = sys.stdout.isatty() and colour_setting() is not False
    click.echo("\n".join(table.lines(width(), one_line=one_line, colour=colour)))


def print_facts(*facts: tuple[str, Any]) -> None:
    """Print lines of a name and a value; empty values are left out."""
    table = Table("", "")
    for name, value in facts:
        if value not in ("", None):
            table.add(name, value)
    print_table(table)


def print_heading(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def print_warnings(warnings: Sequence[str]) -> None:
    """Print warnings to the standard error, unless ``-q`` was given before the command."""
    if click.get_current_context().find_root().params.get("quiet"):
        return
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def plain(docstring: str) -> str:
    """A line of a docstring without the marks of reStructuredText."""
    return docstring.replace("``", "`")


def fitted(text: str, indent: int = 0) -> str:
    """Paragraphs whose lines are too long for the terminal, wrapped; lists stay as they are.

    ``indent`` is what is printed before each line.
    """
    if (columns := width()) is None:
        return text
    columns = max(columns - indent, 1)
    return "\n\n".join(
        textwrap.fill(part, columns)
        if max(map(len, part.splitlines()), default=0) > columns and "\n " not in part
        else part
        for part in text.split("\n\n")
    )
