"""Rows of mixed clusters, and what they come to: per family and size, and over the costly ones."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tests.bench._case import Measured
from tests.bench._mixed import MixedCase
from tests.bench._rows import SMALLEST, Row, figures
from tests.bench._targets import Target

KIND = "mixed"
SIZES = ((24, "up to 24 nodes"), (100, "100 nodes"), (300, "300 nodes"), (1000, "1,000 nodes"))
COSTLY = 0.1
"""CPU seconds of either side, here, from which on a cluster counts for the targets."""
ALL_COSTLY = f"{COSTLY:g} s or more"
MEANS = {"volcano": 6.0, "kai": 4.0}
"""The geometric mean that the costly clusters of a family are meant to reach."""
ROW, UNFINISHED = Target(ratio=1), Target(seconds=5)
"""No costly cluster slower than the peer; those that the peer did not finish, in so many s."""


def make_mixed_row(case: MixedCase, measured: Measured, unit: float, mib: float) -> Row:
    """The row of a mixed cluster. ``peer`` is carried to this machine by the unit."""
    row: Row = {
        "family": case.family,
        "kind": KIND,
        "cluster": case.label,
        "nodes": case.nodes,
        **figures(measured, unit, mib),
        "unfinished": case.unfinished,
        "wrong": [],
    }
    target = UNFINISHED if case.unfinished else None
    if case.peer is not None:
        row["peer"] = round(case.peer.cpu * unit / case.peer.unit, 4)
        row["ratio"] = round(row["peer"] / max(measured.cpu, SMALLEST), 2)
        target = ROW if is_costly(row) else None
    if target is not None:
        row["target"] = str(target)
        row["met"] = target.met(row)
    return row


def is_costly(row: Row) -> bool:
    return row["peer"] is not None and max(row["cpu"], row["peer"]) >= COSTLY


def print_mixed(rows: Sequence[Row], console: Console) -> None:
    """The clusters one by one, then what they come to."""
    table = _table("cluster", "nodes", "cpu\ns", "open\ns", "placed", "evicted", "MiB", "peer\ns",
                   "times\nless")  # fmt: skip
    for family in dict.fromkeys(row["family"] for row in rows):
        table.add_section()
        table.add_row(Text(f"{family} mixed", style="bold"))
        for row in sorted((r for r in rows if r["family"] == family), key=_order):
            table.add_row(*_cells(row))
    console.print(table)
    ends = _table("times less than the peer", "clusters", "geometric\nmean", "worst", "slower")
    for cells in summary_lines(rows):
        ends.add_row(*cells)
    if ends.rows:
        console.print(ends)


def summary_lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    """Family and size, how many, geometric mean, worst ratio with its cluster, slower ones."""
    for family in dict.fromkeys(row["family"] for row in rows):
        own = [row for row in rows if row["family"] == family]
        beside = [row for row in own if row["ratio"] is not None]
        least = 0
        for most, name in SIZES:
            chosen = [row for row in beside if least < row["nodes"] <= most]
            least = most
            if chosen:
                yield _line(f"{family}, {name}", chosen)
        costly = [row for row in beside if is_costly(row)]
        if costly:
            yield _line(f"{family}, {ALL_COSTLY}", costly, MEANS[family])
        unfinished = [row for row in own if row["unfinished"]]
        if unfinished:
            slowest = max(unfinished, key=lambda row: row["cpu"] / row["unit"])
            met = sum(1 for row in unfinished if row["met"])
            yield [
                f"{family}, not finished by the peer",
                str(len(unfinished)),
                "",
                f"{slowest['cpu']:.2f} s {slowest['cluster']}",
                f"{met} within {UNFINISHED}",
            ]


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(math.log(max(ratio, 1e-3)) for ratio in ratios) / len(ratios))


def _line(name: str, rows: Sequence[Row], target: float | None = None) -> list[str]:
    mean = geometric_mean([row["ratio"] for row in rows])
    worst = min(rows, key=lambda row: row["ratio"])
    text = f"{mean:.2f}"
    if target is not None:
        text += f" ({'met' if mean >= target else 'not met'}: {target:g})"
    slower = sum(1 for row in rows if row["ratio"] < 1)
    return [name, str(len(rows)), text, f"{worst['ratio']:.2f} {worst['cluster']}", str(slower)]


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, header_style="bold", padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _order(row: Row) -> tuple[int, str]:
    return row["nodes"], row["cluster"]


def _cells(row: Row) -> list[str]:
    return [
        f"  {row['cluster']}",
        f"{row['nodes']:,}",
        f"{row['cpu']:.3f}",
        f"{row['open']:.3f}",
        f"{row['placed']:,}",
        f"{row['evicted']:,}",
        f"{row['mib']:,}",
        "" if row["peer"] is None else f"{row['peer']:.3f}",
        "-" if row["unfinished"] else "" if row["ratio"] is None else f"{row['ratio']:.1f}",
    ]
