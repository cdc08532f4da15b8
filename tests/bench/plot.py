"""Measure cost against nodes, tasks and victims and draw it: ``python tests/bench/plot.py``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rich.console import Console

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.bench._apart import measure_apart  # noqa: E402
from tests.bench._case import Case  # noqa: E402
from tests.bench._cases import (  # noqa: E402
    kai_allocate,
    kai_evicting,
    volcano_allocate,
    volcano_evicting,
)
from tests.bench._clock import Units  # noqa: E402
from tests.bench._peers import UNIT as PEER_UNIT  # noqa: E402
from tests.bench._rows import problems  # noqa: E402
from tests.bench._svg import Panel, draw  # noqa: E402

PICTURE = ROOT / "docs" / "img" / "performance.svg"
NODES = (500, 1000, 2000, 5000, 10_000)
TASKS = (1000, 2000, 5000, 10_000, 20_000)
VICTIMS = (48, 104, 200, 400, 800, 1000)
"""Multiples of eight, so that gangs of eight take as many."""
VOLCANO, KAI, GANGS = "Volcano family", "KAI family", "KAI family, gangs of 8"

Sweep = tuple[str, str, dict[str, list[tuple[int, Case]]]]


def sweeps() -> Iterator[Sweep]:
    """What is drawn: title, quantity, and for each line its sizes with their cases."""
    yield (
        "allocate 5,000 tasks",
        "nodes",
        {
            VOLCANO: [(nodes, volcano_allocate(nodes, 500, 10)) for nodes in NODES],
            KAI: [(nodes, kai_allocate(nodes, 625, 8)) for nodes in NODES],
        },
    )
    yield (
        "allocate on 1,000 nodes",
        "tasks",
        {
            VOLCANO: [(tasks, volcano_allocate(1000, tasks // 10, 10)) for tasks in TASKS],
            KAI: [(tasks, kai_allocate(1000, tasks // 8, 8)) for tasks in TASKS],
        },
    )
    yield (
        "reclaim on 1,000 full nodes",
        "victims",
        {
            VOLCANO: [(count, volcano_evicting("reclaim", 1000, count)) for count in VICTIMS],
            KAI: [(count, kai_evicting("reclaim", 1000, count, 1)) for count in VICTIMS],
            GANGS: [(count, kai_evicting("reclaim", 1000, count // 8, 8)) for count in VICTIMS],
        },
    )


def measured(case: Case, units: Units) -> float:
    """CPU seconds of a case on the machine that the peers were measured on."""
    unit = units.near()
    figures, _ = measure_apart(case)
    wrong = problems(case, figures)
    if wrong:
        raise SystemExit(f"{case.name}: {'; '.join(wrong)}")
    return figures.cpu * PEER_UNIT / unit


def panels(seconds: Callable[[Case], float]) -> list[Panel]:
    return [
        Panel(
            title,
            quantity,
            {
                name: [(count, seconds(case)) for count, case in cases]
                for name, cases in lines.items()
            },
        )
        for title, quantity, lines in sweeps()
    ]


def picture(charts: Sequence[Panel]) -> str:
    return draw("Cost of a cycle against nodes, tasks and victims", "CPU seconds", charts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", type=Path, default=PICTURE, help="where the picture goes")
    options = parser.parse_args()
    units, console = Units(), Console(stderr=True)

    def seconds(case: Case) -> float:
        cost = measured(case, units)
        console.print(f"{case.name}: {cost:.3f} s")
        return cost

    options.o.write_text(picture(panels(seconds)), encoding="utf-8")


if __name__ == "__main__":
    main()
