"""``python -m tests.evictions.candidates``: default policies compared on clusters with churn.

Jobs arrive over the first cycles, run for a drawn number of cycles and leave. An evicted job begins
again from nothing. The figures are means over the clusters of both families.
"""

from __future__ import annotations

import argparse
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, policy_from_dict
from pumice.config.settings import AS_UPSTREAM
from pumice.manifests import read_objects
from pumice.model.facts import Inventory, Pod
from pumice.scheduler import Scheduler
from tests.evictions.generator import draw

CYCLES = 40
SECONDS = 20.0
GREEDY = {
    "actions": ["enqueue", "allocate", "backfill", "reclaim", "preempt"],
    "tiers": [
        {"plugins": ["priority", {"name": "gang", "disable": ["preemptable"]}, "conformance"]},
        {"plugins": ["predicates", "proportion", "nodeorder", "binpack"]},
    ],
}
CANDIDATES: dict[str, dict[str, Any]] = {
    "preset volcano": {"preset": "volcano"},
    "preset kai": {"preset": "kai"},
    "greedy, as upstream": {**GREEDY, "evictions": AS_UPSTREAM},
    "greedy with promises": GREEDY,
    "solver, as upstream": {"preset": "pumice", "evictions": AS_UPSTREAM},
    "solver without consolidation": {
        "preset": "pumice",
        "actions": ["enqueue", "fair_allocate", "backfill", "solve_reclaim", "solve_preempt"],
    },
    "greedy, then solver": {
        "preset": "pumice",
        "actions": [
            "enqueue",
            "fair_allocate",
            "backfill",
            "reclaim",
            "preempt",
            "consolidate",
            "solve_reclaim",
            "solve_preempt",
        ],
    },
    "preset pumice": {"preset": "pumice"},
}


@dataclass(slots=True)
class Job:
    """A job that comes and goes."""

    arrives: int
    runs: int
    pods: dict[str, Pod]
    queue: str
    minimum: int
    started: int | None = None
    """The cycle since when the gang has been running."""
    delay: int | None = None
    """Cycles from its arrival to its first start."""
    done: bool = False


@dataclass(slots=True)
class Figures:
    """What came of one cluster."""

    delays: list[int] = field(default_factory=list)
    finished: list[float] = field(default_factory=list)
    used: list[float] = field(default_factory=list)
    evictions: list[float] = field(default_factory=list)
    fairness: list[float] = field(default_factory=list)


class Churn:
    """One cluster with arrivals and departures under one policy."""

    def __init__(self, items: Sequence[Any], policy: Policy, seed: int) -> None:
        everything = read_objects([("", item) for item in items])
        chance = random.Random(seed)
        self._groups = everything.groups
        self._jobs: dict[str, Job] = {}
        for uid, group in everything.groups.items():
            pods = {u: p for u, p in everything.pods.items() if p.group == uid}
            running = any(pod.node_name for pod in pods.values())
            arrives = 0 if running else chance.randrange(1, CYCLES // 2)
            runs = chance.randrange(3, 15)
            self._jobs[uid] = Job(arrives, runs, pods, group.queue, max(group.min_member, 1))
        gangs = {uid for job in self._jobs.values() for uid in job.pods}
        loners = {uid: pod for uid, pod in everything.pods.items() if uid not in gangs}
        first = replace(everything, groups={}, pods=loners)
        self._cpu = sum(node.allocatable.cpu for node in first.nodes.values())
        self.backend = MemoryBackend(first, between="recreate", now=everything_now(everything))
        self._scheduler = Scheduler(self.backend, policy)
        self.figures = Figures()

    def run(self) -> Figures:
        """All cycles."""
        evictions, used = 0, list[float]()
        served: dict[str, float] = defaultdict(float)
        wanted: dict[str, float] = defaultdict(float)
        for number in range(CYCLES):
            self._arrive(number)
            decisions = self._scheduler.run_once()
            evictions += len(decisions.evictions)
            self.backend.advance()
            self.backend.step(SECONDS)
            pods = self.backend.snapshot().pods
            self._finish(number, pods)
            pods = self.backend.snapshot().pods
            used.append(_cpu(pod for pod in pods.values() if pod.node_name) / self._cpu)
            for job in self._jobs.values():
                present = [pods[uid] for uid in job.pods if uid in pods]
                wanted[job.queue] += _cpu(present)
                served[job.queue] += _cpu(pod for pod in present if pod.node_name)
        parts = [served[queue] / wanted[queue] for queue in wanted if wanted[queue]]
        figures, jobs = self.figures, self._jobs.values()
        figures.delays = [CYCLES if j.delay is None else j.delay for j in jobs if j.arrives]
        figures.finished = [float(job.done) for job in jobs]
        figures.used, figures.evictions = [sum(used) / len(used)], [float(evictions)]
        if parts and sum(part**2 for part in parts):
            jain = sum(parts) ** 2 / (len(parts) * sum(part**2 for part in parts))
            figures.fairness = [jain]
        return figures

    def _arrive(self, number: int) -> None:
        due = [uid for uid, job in self._jobs.items() if job.arrives == number]
        if due:
            facts = self.backend.snapshot()
            groups = facts.groups | {uid: self._groups[uid] for uid in due}
            pods = facts.pods | {u: p for uid in due for u, p in self._jobs[uid].pods.items()}
            self.backend.replace(replace(facts, groups=groups, pods=pods))

    def _finish(self, number: int, pods: dict[str, Pod]) -> None:
        gone = []
        for uid, job in self._jobs.items():
            if job.done or job.arrives > number:
                continue
            running = sum(1 for u in job.pods if u in pods and pods[u].node_name)
            if running < min(job.minimum, len(job.pods)):
                job.started = None
                continue
            if job.started is None:
                job.started = number
                job.delay = number - job.arrives if job.delay is None else job.delay
            if number - job.started >= job.runs:
                job.done = True
                gone.append(uid)
        if gone:
            facts = self.backend.snapshot()
            leaving = {u for uid in gone for u in self._jobs[uid].pods}
            groups = {uid: group for uid, group in facts.groups.items() if uid not in gone}
            rest = {u: pod for u, pod in facts.pods.items() if u not in leaving}
            self.backend.replace(replace(facts, groups=groups, pods=rest))


def everything_now(inventory: Inventory) -> float:
    """A time after everything that the objects state."""
    return max((pod.start_time or pod.created for pod in inventory.pods.values()), default=0.0) + 1


def _cpu(pods: Iterable[Pod]) -> float:
    return float(sum(pod.request.cpu for pod in pods))


def compare(seeds: range) -> dict[str, Figures]:
    """The figures of every candidate over the same clusters."""
    found: dict[str, Figures] = {}
    for name, table in CANDIDATES.items():
        policy = policy_from_dict(table, where=name)
        total = found[name] = Figures()
        for family in ("volcano", "kai"):
            for seed in seeds:
                one = Churn(draw(seed, family), policy, seed).run()
                for measure in ("delays", "finished", "used", "evictions", "fairness"):
                    getattr(total, measure).extend(getattr(one, measure))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clusters", type=int, default=40, help="clusters of either family")
    options = parser.parse_args()
    print("| policy | delay (cycles) | p95 | finished | CPU used | evictions | fairness (Jain) |")
    print("|---|---|---|---|---|---|---|")
    for name, figures in compare(range(options.clusters)).items():
        delays = sorted(figures.delays)
        print(
            f"| {name} | {_mean(delays):.2f} | {delays[int(len(delays) * 0.95)]} |"
            f" {_mean(figures.finished):.1%} | {_mean(figures.used):.1%} |"
            f" {_mean(figures.evictions):.2f} | {_mean(figures.fairness):.3f} |"
        )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    main()
