"""Measure two checkouts in turns, case by case: ``python tests/bench/compare.py ../other``.

A busy machine slows both sides alike when their runs alternate, so that the ratio of their best
runs means something where the figures themselves do not. Each checkout is measured by its own
``tests/bench/run.py`` in its own ``.venv``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench._cases import CASES  # noqa: E402

Row = dict[str, Any]
_KEYS = ("family", "kind", "cluster", "nodes", "jobs", "pending", "tasks", "gpu")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", type=Path, help="the other checkout, with its .venv")
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose name has WORD")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each side; the best counts")
    parser.add_argument("--most", type=float, default=1.1, help="the largest ratio that passes")
    options = parser.parse_args(arguments)
    names = [case.name for case in CASES if options.k in case.name]
    base, slower = options.base.resolve(), 0
    print(f"{'case':58} {'base':>9} {'here':>9} {'ratio':>6}")
    for name in names:
        for row, (before, after) in best_of(base, name, options.rounds).items():
            ratio = after / max(before, 1e-4)
            slower += ratio > options.most
            print(f"{row:58} {before:9.4f} {after:9.4f} {ratio:6.2f}", flush=True)
    return 1 if slower else 0


def best_of(base: Path, name: str, rounds: int) -> dict[str, tuple[float, float]]:
    """By row that both checkouts have: the least CPU time of the base and of this one."""
    best: dict[str, dict[Path, float]] = {}
    for _ in range(rounds):
        for checkout in (base, ROOT):
            rows = measure(checkout, name)
            if not rows:
                return {}
            for row in rows:
                cpu = best.setdefault(name_of(row), {})
                cpu[checkout] = min(row["cpu"], cpu.get(checkout, float("inf")))
    return {row: (cpu[base], cpu[ROOT]) for row, cpu in best.items() if len(cpu) == 2}


def measure(checkout: Path, name: str) -> list[Row]:
    """The rows that one checkout measures of itself; none of a case that it does not have."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "bench.json")
        command = [checkout / ".venv/bin/python", "tests/bench/run.py", "-o", out, "-k", name]
        subprocess.run(command, cwd=checkout, capture_output=True, check=False)
        if not out.exists():
            print(f"{checkout.name} has no case {name!r}", file=sys.stderr)
            return []
        rows: list[Row] = json.loads(out.read_text(encoding="utf-8"))
        return rows


def name_of(row: Row) -> str:
    return " ".join(str(row[key]) for key in _KEYS if row.get(key))


if __name__ == "__main__":
    sys.exit(main())
