"""Measure the engine: ``make bench``, or ``python tests/bench/run.py -k 5000 --profile``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench._apart import measure_apart  # noqa: E402
from tests.bench._case import Case  # noqa: E402
from tests.bench._cases import CASES  # noqa: E402
from tests.bench._clock import Units  # noqa: E402
from tests.bench._mixed import MixedCase, drawn_cases, recorded_cases  # noqa: E402
from tests.bench._mixed_table import KIND as MIXED  # noqa: E402
from tests.bench._mixed_table import make_mixed_row, print_mixed  # noqa: E402
from tests.bench._page import write_page  # noqa: E402
from tests.bench._rows import Row, make_row  # noqa: E402
from tests.bench._table import WIDTH, print_table  # noqa: E402
from tests.conftest import shared_dir  # noqa: E402

PAGE = ROOT / "docs" / "performance.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose name has WORD")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--mixed", action="store_true", help="only the mixed clusters")
    which.add_argument("--uniform", action="store_true", help="all but the mixed clusters")
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many runs")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("-o", type=Path, default=ROOT / "bench.json", help="where the rows go")
    parser.add_argument("--page", action="store_true", help="write the figures into the docs")
    options = parser.parse_args(arguments)
    console = Console(width=WIDTH)
    cases: list[Case | MixedCase] = [] if options.mixed else [*CASES]
    if not options.uniform:
        cases += mixed_cases(console)
    cases = [case for case in cases if options.k in case.name]
    if not cases:
        parser.error(f"no case has {options.k!r} in its name")
    units, rows = Units(), list[Row]()
    with Console(stderr=True).status("measuring") as status:
        for case in cases:
            status.update(case.name)
            unit = units.near()
            measured, mib = measure_apart(case, options.repeat, options.profile)
            make = make_mixed_row if isinstance(case, MixedCase) else make_row
            rows.append(make(case, measured, unit, mib))
            # Written after every row, so that a run that is stopped leaves what it has.
            options.o.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    uniform = [row for row in rows if row["kind"] != MIXED]
    mixed = [row for row in rows if row["kind"] == MIXED]
    if options.page:
        write_page(PAGE, uniform)
    if mixed:
        print_mixed(mixed, console)
    print_table(uniform, units.all, console)
    return 1 if any(row["wrong"] for row in rows) else 0


def mixed_cases(console: Console) -> list[MixedCase]:
    """Our own mixed clusters, and those that the peers have decided."""
    recorded = recorded_cases(shared_dir())
    if not recorded:
        console.print("Mixed clusters beside a peer: skipped, no shared material (PUMICE_SHARED).")
    return [*drawn_cases(), *recorded]


if __name__ == "__main__":
    sys.exit(main())
