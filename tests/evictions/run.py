"""Runs a cluster for many cycles and checks each of them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pumice.backends.memory import MemoryBackend
from pumice.config import Policy, load_policy
from pumice.manifests import read_objects
from pumice.scheduler import Scheduler
from tests.evictions.cluster import Cluster
from tests.evictions.cycle import Cycle
from tests.evictions.evicting import check_evicting
from tests.evictions.generator import NOW
from tests.evictions.kinds import Rules, Violation
from tests.evictions.objects import Gang, Object
from tests.evictions.placing import check_placing
from tests.evictions.reclaiming import min_runtime

CYCLES = 30
QUIET = 10
"""In so many cycles at the end nothing may be evicted."""
SECONDS = 10.0
"""From cycle to cycle."""
IDLE, STRIDE = 3, 4
"""After so many cycles in a row without a new decision, only one of so many is run."""
RULES = {
    "pumice": Rules(quotas=True),
    "volcano": Rules(tree=False, min_runtime=False, budgets=False, deserved_is_limit=True),
    "kai": Rules(budgets=False, gpus_of_100_mib=True),
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
        self,
        items: Sequence[Object],
        policy: Policy,
        rules: Rules,
        *,
        churn: int | None = None,
        verify: bool = False,
    ) -> None:
        self.cluster, self.rules = Cluster(items), rules
        inventory = read_objects([("", item) for item in items])
        if inventory.problems:
            raise ValueError(f"the generator made a bad object: {inventory.problems[0]}")
        self.backend = MemoryBackend(inventory, now=NOW, between="recreate")
        self._changes = {} if churn is None else _draw_changes(self.cluster, churn)
        self._held_back = self._hold_back()
        self.scheduler = Scheduler(self.backend, policy, verify=verify)
        self.result = Result()
        self._pairs: dict[tuple[str, str], int] = {}
        self._victims: set[tuple[str, str]] = set()
        self._waiting: dict[str, str] = {}
        self._quiet_from = 0.0
        """When the cycles begin in which nothing may be evicted, less the cycles left out."""
        self._awaited: dict[str, str] = {}
        """Promised with evictions in the cycle before: uid → node."""

    def cycles(self, count: int = CYCLES) -> Result:
        """Run and check so many cycles; time passes in those that are left out."""
        idle = 0
        self._quiet_from = NOW + (count - QUIET - STRIDE) * SECONDS
        for number in range(1, count + 1):
            if self._change(number):
                idle = 0
            if idle < IDLE or number % STRIDE == count % STRIDE:
                decided = self._cycle(number, last=number > count - QUIET)
                idle = 0 if decided else idle + 1
            self.backend.step(SECONDS)
        self.scheduler.close()
        return self.result

    # -- jobs that come and go

    def _hold_back(self) -> dict[str, tuple[Gang, Any, dict[str, Any]]]:
        """Take out what arrives later: gang, and the facts of its group and pods."""
        held = {}
        for uid in [uid for uid, (_, arrives) in self._changes.items() if arrives]:
            held[uid] = (self.cluster.gangs[uid], *self._remove(uid))
        return held

    def _remove(self, uid: str) -> tuple[Any, dict[str, Any]]:
        """Take a gang out of both clusters; the facts of its group and pods."""
        pods = self.cluster.remove_gang(uid)
        facts = self.backend.snapshot()
        groups, rest = dict(facts.groups), dict(facts.pods)
        keys = {pod.key for pod in pods}
        leaving = [fact for fact in rest.values() if fact.key in keys]
        gone = groups.pop(uid), {fact.uid: rest.pop(fact.uid) for fact in leaving}
        self.backend.replace(replace(facts, groups=groups, pods=rest))
        return gone

    def _change(self, number: int) -> bool:
        """Let gangs arrive and depart; whether any did."""
        due = [uid for uid, (cycle, _) in self._changes.items() if cycle == number]
        for uid in due:
            if uid in self._held_back:
                gang, group, pods = self._held_back.pop(uid)
                self.cluster.return_gang(gang)
                facts = self.backend.snapshot()
                self.backend.replace(
                    replace(facts, groups=facts.groups | {uid: group}, pods=facts.pods | pods)
                )
            else:
                self._remove(uid)
        return bool(due)

    # -- one cycle

    def _cycle(self, number: int, *, last: bool) -> bool:
        """Run and check one cycle; whether anything new was decided."""
        now = self.backend.now()
        decisions = self.scheduler.run_once()
        self.backend.advance()
        cycle = Cycle(self.cluster, decisions, number, now, self.rules)
        check_placing(cycle)
        check_evicting(cycle)
        self.result.violations += cycle.violations
        self._check_history(cycle, last=last)
        self.result.evictions += len(cycle.evicted)
        self.cluster.apply(decisions, now)
        waiting, self._waiting = self._waiting, cycle.promises
        return bool(cycle.binds or cycle.evicted or cycle.promises != waiting)

    def _check_history(self, cycle: Cycle, *, last: bool) -> None:
        """What only several cycles show."""
        report, pods = self.result.violations, self.cluster.pods
        for uid, node in self._awaited.items():
            if uid not in cycle.binds and uid in pods:
                report.append(Violation("promise-lost", cycle.number, f"{pods[uid].key} on {node}"))
        claimants = {eviction.claimant for eviction in cycle.evicted.values()}
        self._awaited = {
            uid: node
            for uid, node in cycle.promises.items()
            if pods[uid].gang is not None and pods[uid].gang.uid in claimants
        }
        for eviction in cycle.evicted.values():
            gang, claimant = pods[eviction.task].gang, eviction.claimant
            if last and not self._was_spared(cycle, gang, claimant):
                detail = f"{eviction.task}, {eviction.action} for {claimant}"
                report.append(Violation("still-evicting", cycle.number, detail))
            if gang is None or not claimant:
                continue
            self.result.claimed += 1
            pair = (claimant, gang.uid)
            if pair not in self._pairs and pair[::-1] in self._pairs:
                detail = f"{claimant} and {gang.uid}, before in cycle {self._pairs[pair[::-1]]}"
                report.append(Violation("mutual", cycle.number, detail))
            self._pairs.setdefault(pair, cycle.number)
            victim = (claimant, eviction.task)
            if victim in self._victims:
                detail = f"{eviction.task}, {eviction.action} for {claimant}"
                report.append(Violation("repeated", cycle.number, detail))
            self._victims.add(victim)

    def _was_spared(self, cycle: Cycle, gang: Gang | None, claimant: str) -> bool:
        """Whether the minimum runtime of a gang has ended only in the last cycles."""
        if gang is None or gang.last_start is None or claimant not in self.cluster.gangs:
            return False
        runtime = min_runtime(cycle, gang.queue, self.cluster.gangs[claimant].queue)
        return gang.last_start < self._quiet_from <= gang.last_start + runtime


def _draw_changes(cluster: Cluster, seed: int) -> dict[str, tuple[int, bool]]:
    """Gang → the cycle in which it arrives (True) or departs (False)."""
    dice = random.Random(f"churn/{seed}")
    changes = {}
    for uid, gang in cluster.gangs.items():
        if dice.random() < 0.4:
            changes[uid] = (dice.randint(2, CYCLES - QUIET - 8), not gang.running())
    return changes
