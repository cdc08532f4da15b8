"""The table that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.bench._rows import Row, count_key

WIDTH = 132
_NUMBERS = (
    "nodes", "jobs × tasks", "cpu\ns", "open\ns", "placed", "evicted", "MiB",
    "peer\ns", "times\nless", "×\nbase",
)  # fmt: skip


def print_table(rows: Sequence[Row], units: Sequence[float], console: Console) -> None:
    """One table with a part for each family, then what should be known about it."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column("what", no_wrap=True)
    for name in _NUMBERS:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("target", no_wrap=True)
    table.add_column("met", no_wrap=True)
    for family in dict.fromkeys(row["family"] for row in rows):
        table.add_section()
        table.add_row(Text(family, style="bold"))
        for row in rows:
            if row["family"] == family:
                table.add_row(*_cells(row))
    console.print(table)
    console.print(
        f"Unit of this machine: {min(units):.3f} to {max(units):.3f} s of CPU. Peers, and targets "
        "in seconds, are carried by the unit measured next to their row."
    )
    console.print(summary(rows))


def summary(rows: Iterable[Row]) -> Text:
    """How many targets are met, and which rows are not what they must be."""
    rows = list(rows)
    aimed = [row for row in rows if row["met"] is not None]
    text = Text(f"Targets met: {sum(1 for row in aimed if row['met'])} of {len(aimed)}.")
    for row in rows:
        if row["wrong"]:
            text.append(f"\nWrong: {_name(row)}: {'; '.join(row['wrong'])}", style="bold red")
    return text


def _name(row: Row) -> str:
    return f"{row['family']} {_what(row)} on {row['nodes']:,} nodes, {_jobs(row)} tasks"


def _what(row: Row) -> str:
    return f"{row['kind']}, {row['gpu']} gpu" if row["gpu"] else str(row["kind"])


def _jobs(row: Row) -> str:
    return f"{row[count_key(row['kind'])]:,} × {row['tasks']:,}"


def _cells(row: Row) -> list[str | Text]:
    return [
        f"  {_what(row)}",
        f"{row['nodes']:,}",
        _jobs(row),
        f"{row['cpu']:.3f}",
        f"{row['open']:.3f}",
        f"{row['placed']:,}",
        f"{row['evicted']:,}",
        f"{row['mib']:,}",
        "" if row["peer"] is None else f"{row['peer']:.2f}",
        "" if row["ratio"] is None else f"{row['ratio']:.1f}",
        "" if row["times"] is None else f"{row['times']:.2f}",
        row["target"] or "",
        _met(row),
    ]


def _met(row: Row) -> Text:
    if row["wrong"]:
        return Text("WRONG", style="bold red")
    if row["met"] is None:
        return Text("")
    return Text("yes", style="green") if row["met"] else Text("no", style="red")
