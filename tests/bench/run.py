"""Measure the engine: ``make bench``, or ``python tests/bench/run.py -k 5000 --profile``."""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from pumice.backends.memory import MemoryBackend  # noqa: E402
from pumice.config import policy_from_dict  # noqa: E402
from pumice.scheduler import Scheduler  # noqa: E402
from tests.bench._clusters import CASES, Case  # noqa: E402
from tests.bench._peers import CPU as PEERS  # noqa: E402
from tests.bench._peers import UNIT as PEER_UNIT  # noqa: E402


@dataclass
class Timing:
    """CPU and wall seconds of what runs inside the block."""

    cpu: float = 0.0
    wall: float = 0.0

    def __enter__(self) -> Timing:
        gc.collect()
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.cpu = time.process_time() - self.cpu
        self.wall = time.perf_counter() - self.wall


def unit() -> float:
    """CPU seconds of a fixed piece of work: how fast this machine is, at this moment."""
    best = float("inf")
    for _ in range(5):
        start = time.process_time()
        table: dict[int, int] = {}
        total = 0
        for i in range(1_000_000):
            table[i & 1023] = i
            total += table[i & 511] ^ i
        best = min(best, time.process_time() - start)
    return best


def waited(uid: str) -> bool:
    """Whether a task was pending before the cycle: running ones may move."""
    return uid.startswith("job-")


def compare(case: Case, row: dict[str, Any], unit_seconds: float) -> None:
    """Add what the peer needs, carried to this machine, and how many times more that is."""
    row["unit"] = round(unit_seconds, 4)
    peer = PEERS.get((case.family, case.kind, case.nodes, case.jobs, case.tasks, case.gpu))
    if peer is not None:
        row["peer"] = round(peer * unit_seconds / PEER_UNIT, 3)
        row["ratio"] = round(row["peer"] / max(row["cpu"], 1e-3), 2)


def measure(case: Case, profile: cProfile.Profile | None) -> tuple[dict[str, Any], Timing]:
    """One cycle of a case; only opening the session and running the action are timed."""
    policy = policy_from_dict(case.policy, where=case.name)
    scheduler = Scheduler(MemoryBackend(case.cluster(case)), policy)
    (action,) = (action for action in scheduler.holder.actions if action.name == case.action)
    with Timing() as opening:
        session = scheduler.open_session()
    with Timing() as deciding:
        if profile is not None:
            profile.runcall(scheduler.run_action, session, action)
        else:
            scheduler.run_action(session, action)
    decisions = scheduler.finish(session)
    row = {
        "family": case.family,
        "kind": case.kind,
        "nodes": case.nodes,
        "jobs": case.jobs,
        "tasks": case.tasks,
        "gpu": case.gpu,
        "cpu": round(deciding.cpu, 3),
        "open": round(opening.cpu, 3),
        "unit": 0.0,
        "placed": sum(1 for d in (*decisions.binds, *decisions.pipelined) if waited(d.uid)),
        "evicted": len(decisions.evictions),
        "peer": None,
        "ratio": None,
    }
    return row, deciding


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", metavar="WORD", default="", help="only cases whose name has WORD")
    parser.add_argument("--repeat", type=int, default=1, help="take the best of so many runs")
    parser.add_argument("--profile", action="store_true", help="show where the time goes")
    parser.add_argument("-o", type=Path, default=ROOT / "bench.json", help="where the rows go")
    options = parser.parse_args()
    cases = [case for case in CASES if options.k in case.name]
    if not cases:
        parser.error(f"no case has {options.k!r} in its name")
    console, rows = Console(width=120), []
    unit_seconds = unit()
    table = Table(
        "case", "nodes", "jobs", "tasks", "cpu s", "wall s", "open s", "placed", "evicted",
        "peer s", "times less",
    )  # fmt: skip
    for case in cases:
        profile = cProfile.Profile() if options.profile else None
        runs = [measure(case, profile) for _ in range(max(options.repeat, 1))]
        row, timing = min(runs, key=lambda run: run[0]["cpu"])
        compare(case, row, unit_seconds)
        rows.append(row)
        table.add_row(
            f"{case.family} {case.kind}" + (f", {case.gpu} gpu" if case.gpu else ""),
            str(case.nodes),
            str(case.jobs),
            str(case.tasks),
            f"{row['cpu']:.2f}",
            f"{timing.wall:.2f}",
            f"{row['open']:.2f}",
            str(row["placed"]),
            str(row["evicted"]),
            "" if row["peer"] is None else f"{row['peer']:.2f}",
            "" if row["ratio"] is None else f"{row['ratio']:.1f}",
        )
        if profile is not None:
            console.print(case.name)
            pstats.Stats(profile).sort_stats("tottime").print_stats(25)
    console.print(table)
    console.print(f"unit of this machine: {unit_seconds:.3f} s of CPU")
    options.o.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
