"""Measure the engine: ``make bench``, or ``python tests/bench/run.py -k 5000 --profile``."""

from __future__ import annotations

import argparse
import cProfile
import json
import multiprocessing
import pstats
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench._case import Case, Measured, best_of  # noqa: E402
from tests.bench._cases import CASES  # noqa: E402
from tests.bench._clock import Units, peak_mib  # noqa: E402
from tests.bench._rows import Row, make_row  # noqa: E402
from tests.bench._table import WIDTH, print_table  # noqa: E402


def measure(case: Case, repeat: int, profiled: bool) -> tuple[Measured, float]:
    """The figures of a case and the peak of this process's memory."""
    profile = cProfile.Profile() if profiled else None
    measured = best_of(case, repeat, profile)
    if profile is not None:
        print(case.name)
        pstats.Stats(profile).sort_stats("tottime").print_stats(25)
        sys.stdout.flush()
    return measured, peak_mib()


def measure_apart(case: Case, repeat: int, profiled: bool = False) -> tuple[Measured, float]:
    """The same in a process that has measured nothing else."""
    fresh = multiprocessing.get_context("forkserver")
    fresh.set_forkserver_preload(["tests.bench._cases"])
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        return process.submit(measure, case, repeat, profiled).result()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose name has WORD")
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many runs")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("-o", type=Path, default=ROOT / "bench.json", help="where the rows go")
    options = parser.parse_args()
    cases = [case for case in CASES if options.k in case.name]
    if not cases:
        parser.error(f"no case has {options.k!r} in its name")
    units, rows = Units(), list[Row]()
    with Console(stderr=True).status("measuring") as status:
        for case in cases:
            status.update(case.name)
            unit = units.near()
            measured, mib = measure_apart(case, options.repeat, options.profile)
            rows.append(make_row(case, measured, unit, mib))
    options.o.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    print_table(rows, units.all, Console(width=WIDTH))
    return 1 if any(row["wrong"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
