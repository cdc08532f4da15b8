"""Small simulations."""

from __future__ import annotations

from typing import Any

from pumice.config import policy_from_dict
from pumice.simulation import Record, Settings, Simulation
from pumice.simulation.cluster import needs_kai, nodes_of, queues_of
from pumice.traces import Trace, TraceJob

PLACING = {
    "actions": ["enqueue", "allocate"],
    "tiers": [{"plugins": ["priority", "gang", "predicates", "proportion", "binpack"]}],
}
PREEMPTING = {
    "actions": ["allocate", "preempt"],
    "tiers": [
        {"plugins": ["priority", {"name": "gang", "disable": ["preemptable"]}, "conformance"]},
        {"plugins": ["predicates", "binpack"]},
    ],
}


def job(
    name: str, submit: float = 0, duration: float = 100, gpus: int = 1, **given: Any
) -> TraceJob:
    return TraceJob(name, submit, duration, cpu=1000, gpus=gpus * 1000, **given)


def simulate(
    *jobs: TraceJob, nodes: str = "1x4", policy: dict[str, Any] | None = None, **settings: Any
) -> Record:
    """Replay jobs on a small cluster; a cycle may run every second."""
    trace = Trace(list(jobs))
    machines = nodes_of([nodes])
    queues = queues_of(trace, machines, kai=needs_kai(jobs))
    chosen = policy_from_dict(policy or PLACING, where="test")
    given = Settings(**{"period": 1.0, **settings})
    return Simulation(trace, machines, queues, chosen, given).run()
