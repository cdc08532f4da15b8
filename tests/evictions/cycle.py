"""One cycle: its decisions beside the cluster before it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from functools import cached_property
from typing import Any

from tests.evictions import shares
from tests.evictions.cluster import Cluster
from tests.evictions.kinds import Rules, Violation
from tests.evictions.objects import PODS, Amounts, Gang, Pod, exceeds
from tests.evictions.placement import Present

Placement = dict[str, dict[str, Pod]]
"""Node → the pods on it, by key."""


class Cycle:
    """The decisions of a cycle, where they put the pods, and what is wrong with them."""

    def __init__(
        self, cluster: Cluster, decisions: Any, number: int, now: float, rules: Rules
    ) -> None:
        self.cluster, self.decisions, self.number, self.now = cluster, decisions, number, now
        self.rules = rules
        self.violations: list[Violation] = []
        pods = cluster.pods
        self.binds = {bind.task: bind for bind in decisions.binds}
        self.promises = {p.task: p.node for p in decisions.pipelined if p.task in pods}
        first = {eviction.task: eviction for eviction in reversed(decisions.evictions)}
        self.evicted = {e.task: e for e in decisions.evictions if first[e.task] is e}
        """By pod, in the order of the evictions; a pod that is evicted twice goes for the first."""

    def report(self, kind: str, detail: str) -> None:
        """Add a violation."""
        self.violations.append(Violation(kind, self.number, detail))

    # -- where everything is

    @cached_property
    def after_binds(self) -> Placement:
        """Where the pods are once the binds are done and before any eviction."""
        present = {name: dict(pods) for name, pods in self.cluster.present.items()}
        for key, bind in self.binds.items():
            present[bind.node][key] = self.cluster.pods[key]
        return present

    @cached_property
    def at_last(self) -> Placement:
        """Where the pods are once evicted pods are gone and promises are fulfilled."""
        return self._later(self.evicted, self.promises)

    def at_plan(self, claimant: Gang, evictions: list[Any]) -> Placement:
        """Where the pods are once this plan and those before it are carried out."""
        evicted, promised = list(self.evicted), list(self.promises)
        last = max(evicted.index(eviction.task) for eviction in evictions)
        moved = {eviction.task for eviction in evictions}
        own = [
            n
            for n, key in enumerate(promised)
            if self.cluster.pods[key].gang is claimant or key in moved
        ]
        kept = promised[: max(own, default=-1) + 1]
        return self._later(set(evicted[: last + 1]), {key: self.promises[key] for key in kept})

    def _later(self, gone: Container[str], promises: Mapping[str, str]) -> Placement:
        present = {
            name: {key: pod for key, pod in pods.items() if key not in gone}
            for name, pods in self.after_binds.items()
        }
        for key, node in promises.items():
            present[node][key] = self.cluster.pods[key]
        return present

    # -- gangs

    def gangs(self, keys: Iterable[str]) -> list[Gang]:
        """The gangs of these pods."""
        pods = self.cluster.pods
        found = {pods[key].gang for key in keys if key in pods}
        return sorted((gang for gang in found if gang is not None), key=lambda gang: gang.uid)

    def placed(self, gang: Gang) -> list[Pod]:
        """The pods of the gang that run or are bound now."""
        return [pod for pod in gang.pods if pod.node or pod.key in self.binds]

    def staying(self, gang: Gang) -> list[Pod]:
        """Those of them that are not evicted."""
        return [pod for pod in self.placed(gang) if pod.key not in self.evicted]

    def best_effort(self, gang: Gang, placed: Container[str]) -> int:
        """How many pods request nothing and wait, which Volcano counts as ready."""
        return sum(
            1
            for pod in gang.pods
            if pod.request.keys() == {PODS} and not pod.node and pod.key not in placed
        )

    # -- queues

    @cached_property
    def shares(self) -> shares.Shares:
        """What the queues are entitled to."""
        rules = self.rules
        return shares.compute(
            self.cluster,
            tree=rules.tree,
            gpus_of_100_mib=rules.gpus_of_100_mib,
            quotas=rules.quotas,
        )

    def usage(self, present: Present) -> dict[str, Amounts]:
        """By queue: what the pods count where they are."""
        return self.cluster.usage(
            (pod, node) for node, pods in present.items() for pod in pods.values()
        )

    def over_limit(self, pod: Pod, node: str, used: Mapping[str, Amounts]) -> str:
        """The limit that queues with this usage exceed in what the pod asks for, or nothing."""
        if pod.gang is None:
            return ""
        counted = pod.counted(self.cluster.nodes[node])
        for number, queue in enumerate(self.cluster.path(pod.gang.queue)):
            if number and queue.family == "volcano" and not self.rules.tree:
                break
            for name, bound in queue.limit.items():
                value = used[queue.name].get(name, 0.0)
                if counted.get(name) and exceeds(value, bound):
                    return f"{queue.name}: {name} {value:g} of {bound:g}"
        return ""
