"""Runs a cluster for many cycles and checks each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, load_policy
from pumice.manifests import read_objects
from pumice.scheduler import Scheduler
from tests.evictions.checks import CycleCheck, Rules, Violation
from tests.evictions.cluster import Cluster
from tests.evictions.generator import NOW
from tests.evictions.objects import Object

CYCLES = 30
QUIET = 10
"""In so many cycles at the end nothing may be evicted."""
SECONDS = 10.0
"""From cycle to cycle."""
RULES = {
    "pumice": Rules(deserved_is_limit=True),
    "volcano": Rules(tree=False, min_runtime=False, budgets=False, deserved_is_limit=True),
    "kai": Rules(budgets=False),
}


@dataclass(slots=True)
class Result:
    """What came of one cluster."""

    violations: list[Violation] = field(default_factory=list)
    evictions: int = 0
    claimed: int = 0
    """Evictions for a claimant."""


def policy_of(preset: str) -> Policy:
    """The policy of a preset, or of a file."""
    if preset.endswith(".toml"):
        return load_policy(preset, env={})
    return load_policy(preset=preset, env={})


class Run:
    """One cluster under one policy."""

    def __init__(
        self, items: Sequence[Object], policy: Policy, rules: Rules, *, verify: bool = False
    ) -> None:
        self.cluster, self.rules = Cluster(items), rules
        inventory = read_objects([("", item) for item in items])
        if inventory.problems:
            raise ValueError(f"the generator made a bad object: {inventory.problems[0]}")
        self.backend = MemoryBackend(inventory, now=NOW, between="recreate")
        self.scheduler = Scheduler(self.backend, policy, verify=verify)
        self.result = Result()
        self._pairs: dict[tuple[str, str], int] = {}
        self._victims: set[tuple[str, str]] = set()
        self._awaited: dict[str, str] = {}
        """Promised with evictions in the cycle before: uid → node."""

    def cycles(self, count: int = CYCLES) -> Result:
        """Run and check so many cycles."""
        for number in range(1, count + 1):
            self._cycle(number, last=number > count - QUIET)
        self.scheduler.close()
        return self.result

    def _cycle(self, number: int, *, last: bool) -> None:
        now = self.backend.now()
        decisions = self.scheduler.run_once()
        self.backend.advance()
        self.backend.step(SECONDS)
        check = CycleCheck(self.cluster, decisions, number, now, self.rules)
        self.result.violations += check.run()
        self._check_history(check, last=last)
        self.result.evictions += len(check.evicted)
        self.cluster.apply(decisions, now)

    def _check_history(self, check: CycleCheck, *, last: bool) -> None:
        """What only several cycles show."""
        report, pods = self.result.violations, self.cluster.pods
        for uid, node in self._awaited.items():
            if uid not in check.binds and uid in pods:
                report.append(Violation("promise-lost", check.cycle, f"{pods[uid].key} on {node}"))
        claimants = {eviction.claimant for eviction in check.evicted.values()}
        self._awaited = {
            uid: node
            for uid, node in check.promises.items()
            if pods[uid].gang is not None and pods[uid].gang.uid in claimants
        }
        for eviction in check.evicted.values():
            gang, claimant = pods[eviction.uid].gang, eviction.claimant
            if last:
                detail = f"{eviction.task}, {eviction.action} for {claimant}"
                report.append(Violation("still-evicting", check.cycle, detail))
            if gang is None or not claimant:
                continue
            self.result.claimed += 1
            pair = (claimant, gang.uid)
            if pair not in self._pairs and pair[::-1] in self._pairs:
                detail = f"{claimant} and {gang.uid}, before in cycle {self._pairs[pair[::-1]]}"
                report.append(Violation("mutual", check.cycle, detail))
            self._pairs.setdefault(pair, check.cycle)
            victim = (claimant, eviction.uid)
            if victim in self._victims:
                detail = f"{eviction.task}, {eviction.action} for {claimant}"
                report.append(Violation("repeated", check.cycle, detail))
            self._victims.add(victim)
