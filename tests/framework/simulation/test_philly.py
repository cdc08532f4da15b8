"""The first jobs of the Philly trace on 60 nodes of 8 GPUs."""

from __future__ import annotations

from pathlib import Path

from pumice.simulation.engine import Settings
from pumice.simulation.outcome import Outcome
from pumice.simulation.runs import PolicySource, TraceSource, run_one


def replay(shared: Path, preset: str, limit: int, period: float) -> Outcome:
    trace = str(shared / "traces" / "philly" / "philly.csv.gz")
    source = TraceSource(trace, nodes=("60x8",), limit=limit)
    settings = Settings(period=period, checkpoint=1800.0, restart_cost=60.0, window=4)
    return run_one(source, PolicySource(preset, preset=preset), settings)


def test_a_sample_runs_to_its_end(shared: Path) -> None:
    outcome = replay(shared, "volcano", 400, 900.0)
    assert outcome.jobs == 400
    assert outcome.figures["starvation.unfinished"] == 0
    assert outcome.faults == 0
