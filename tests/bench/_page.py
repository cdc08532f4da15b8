"""The table of the page in the docs, written from the rows of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.bench._peers import UNIT as PEER_UNIT
from tests.bench._rows import Row, count_key

BEGIN, END = "<!-- figures: run.py --page -->", "<!-- end of figures -->"
_HEAD = (
    "| family | work | nodes | jobs × tasks | CPU s | times less | times the base | MiB |",
    "|---|---|---:|---:|---:|---:|---:|---:|",
)


def write_page(page: Path, rows: Sequence[Row]) -> None:
    """Put the figures between the page's two marks, in seconds of the peers' machine."""
    text = page.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{page}: no place for the figures: {BEGIN} … {END}")
    table = "\n".join([*_HEAD, *map(_line, rows)])
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


def _line(row: Row) -> str:
    work = f"{row['kind']}, {row['gpu']} GPU" if row["gpu"] else row["kind"]
    cells = [
        row["family"],
        work,
        f"{row['nodes']:,}",
        f"{row[count_key(row['kind'])]:,} × {row['tasks']:,}",
        f"{row['cpu'] * PEER_UNIT / row['unit']:.2f}",
        "" if row["ratio"] is None else _short(row["ratio"]),
        "" if row["times"] is None else f"{row['times']:.2f}",
        f"{row['mib']:,}",
    ]
    return f"| {' | '.join(cells)} |"


def _short(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}"
