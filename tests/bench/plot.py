"""Measure how cost grows and draw it: ``python tests/bench/plot.py``, ``… plot.py --mixed``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

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
from tests.bench._mixed import MixedCase  # noqa: E402
from tests.bench._mixed_clusters import MixedShape, mixed_cluster  # noqa: E402
from tests.bench._peers import UNIT as PEER_UNIT  # noqa: E402
from tests.bench._rows import problems  # noqa: E402
from tests.bench._svg import Panel, draw  # noqa: E402

PICTURES = ROOT / "docs" / "img"
NODES = (500, 1000, 2000, 5000, 10_000)
TASKS = (1000, 2000, 5000, 10_000, 20_000)
VICTIMS = (48, 104, 200, 400, 800, 1000)
"""Multiples of eight, so that gangs of eight take as many."""
VOLCANO, KAI, GANGS = "Volcano family", "KAI family", "KAI family, gangs of 8"

MIXED = {
    VOLCANO: MixedShape("volcano", 100, 0, "hierarchy", leaves=12, jobs=16),
    KAI: MixedShape("kai", 100, 0, "departments", leaves=12, jobs=4),
}
"""What the mixed clusters of a line have in common; one quantity after the other is varied."""
SEEDS = (1, 2, 3)
"""A point is the median of the clusters of these seeds: a few searches cost many times more."""
MIXED_NODES = (25, 50, 100, 200, 400, 1000)
MIXED_JOBS = (4, 8, 16, 32, 64)
GRAINS = (8, 4, 2, 1)
LEAVES = (4, 8, 16, 32, 64)

Sweep = tuple[str, str, dict[str, list[tuple[float, Sequence[Case | MixedCase]]]]]


def sweeps() -> Iterator[Sweep]:
    """What is drawn: title, quantity, and for each line its sizes with their cases."""
    yield (
        "allocate 5,000 tasks",
        "nodes",
        {
            VOLCANO: [(nodes, [volcano_allocate(nodes, 500, 10)]) for nodes in NODES],
            KAI: [(nodes, [kai_allocate(nodes, 625, 8)]) for nodes in NODES],
        },
    )
    yield (
        "allocate on 1,000 nodes",
        "tasks",
        {
            VOLCANO: [(tasks, [volcano_allocate(1000, tasks // 10, 10)]) for tasks in TASKS],
            KAI: [(tasks, [kai_allocate(1000, tasks // 8, 8)]) for tasks in TASKS],
        },
    )
    yield (
        "reclaim on 1,000 full nodes",
        "victims",
        {
            VOLCANO: [(count, [volcano_evicting("reclaim", 1000, count)]) for count in VICTIMS],
            KAI: [(count, [kai_evicting("reclaim", 1000, count, 1)]) for count in VICTIMS],
            GANGS: [(count, [kai_evicting("reclaim", 1000, count // 8, 8)]) for count in VICTIMS],
        },
    )


def mixed_sweeps() -> Iterator[Sweep]:
    """The same for whole cycles on mixed clusters."""
    for title, quantity, field, values in (
        ("nodes", "nodes", "nodes", MIXED_NODES),
        ("pending jobs on 100 nodes", "pending jobs", "jobs", MIXED_JOBS),
        ("running tasks on 100 nodes", "running tasks", "grain", GRAINS),
        ("queues on 100 nodes", "queues", "leaves", LEAVES),
    ):
        lines: dict[str, list[tuple[float, Sequence[Case | MixedCase]]]] = {}
        for line, shape in MIXED.items():
            for value in values:
                shapes = [replace(shape, seed=seed, **{field: value}) for seed in SEEDS]
                across = running_tasks(shapes) if field == "grain" else value
                cases = [
                    MixedCase(f"{s.name}, {field} {value}", s.family, s.nodes, s) for s in shapes
                ]
                lines.setdefault(line, []).append((across, cases))
        yield title, quantity, lines


def running_tasks(shapes: Sequence[MixedShape]) -> float:
    """How many tasks run on the clusters, in the mean: any of them may become a victim."""
    clusters = [mixed_cluster(shape) for shape in shapes]
    return fmean(sum(1 for pod in c.pods.values() if pod.node_name) for c in clusters)


def measured(case: Case | MixedCase, units: Units) -> float:
    """CPU seconds of a case on the machine that the peers were measured on."""
    unit = units.near()
    figures, _ = measure_apart(case)
    wrong = problems(case, figures) if isinstance(case, Case) else []
    if wrong:
        raise SystemExit(f"{case.name}: {'; '.join(wrong)}")
    return figures.cpu * PEER_UNIT / unit


def panels(seconds: Callable[[Case | MixedCase], float], drawn: Iterable[Sweep]) -> list[Panel]:
    return [
        Panel(
            title,
            quantity,
            {
                name: [(count, median(seconds(case) for case in cases)) for count, cases in points]
                for name, points in lines.items()
            },
        )
        for title, quantity, lines in drawn
    ]


def picture(charts: Sequence[Panel]) -> str:
    axes = ", ".join(panel.across for panel in charts)
    return draw(f"Cost of a cycle against {axes}", "CPU seconds", charts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mixed", action="store_true", help="mixed clusters, not uniform ones")
    parser.add_argument("-o", type=Path, help="where the picture goes; else into the docs")
    options = parser.parse_args()
    units, console = Units(), Console(stderr=True)

    def seconds(case: Case | MixedCase) -> float:
        cost = measured(case, units)
        console.print(f"{case.name}: {cost:.3f} s")
        return cost

    name = "performance-mixed.svg" if options.mixed else "performance.svg"
    charts = panels(seconds, mixed_sweeps() if options.mixed else sweeps())
    (options.o or PICTURES / name).write_text(picture(charts), encoding="utf-8")


if __name__ == "__main__":
    main()
