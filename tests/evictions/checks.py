"""What the decisions of one cycle must not do, checked against accounts of their own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tests.evictions import shares
from tests.evictions.cluster import Cluster
from tests.evictions.objects import (
    DIMENSIONS,
    PODS,
    SYSTEM_CLASSES,
    Amounts,
    Gang,
    Pod,
    add,
    exceeds,
)
from tests.evictions.placement import Present, over_capacity

KINDS = {
    "node-capacity": "node over capacity",
    "filter": "filter broken at a bind",
    "gang-bound": "gang bound below its minimum",
    "best-effort-gang": "gang of pods without requests bound below its minimum",
    "queue-limit": "queue over its limit",
    "protected": "protected pod evicted",
    "budget": "disruption budget exceeded",
    "min-runtime": "evicted within its minimum runtime",
    "within-share": "reclaim from a queue at or below its share",
    "leaf-within-share": "reclaim from a leaf queue at or below its share, its parent being above",
    "promise": "promise on a node that cannot take the pod",
    "promise-limit": "promise beyond the limit of a queue",
    "promise-lost": "promise with evictions that is not bound in the next cycle",
    "no-plan": "eviction for a gang that is not completely placed",
    "gang-broken": "gang left between 1 and its minimum",
    "spareable": "victim that could have been spared",
    "spareable-share": "victim that only the share of its queue required",
    "needless": "eviction for a gang that fits elsewhere without one",
    "bound-and-evicted": "pod bound and evicted in one cycle",
    "still-evicting": "evictions in the last cycles without a change of demand",
    "mutual": "two gangs that evict each other",
    "repeated": "pod evicted again for the same gang",
}
"""Every kind of violation, and what it means."""
ADVISORY = frozenset(
    {
        "best-effort-gang",
        "leaf-within-share",
        "needless",
        "spareable-share",
        "promise-lost",
        "repeated",
    }
)
"""Kinds that are reported but no promise of the policy."""


@dataclass(slots=True, frozen=True)
class Violation:
    """Something that a cycle must not do."""

    kind: str
    cycle: int
    detail: str


@dataclass(slots=True, frozen=True)
class Rules:
    """Which of the checks apply to the policy."""

    tree: bool = True
    """Parents of Volcano queues count."""
    min_runtime: bool = True
    budgets: bool = True
    deserved_is_limit: bool = False
    """Volcano queues may not take more than they deserve."""
    gpus_of_100_mib: bool = False
    """KAI's count of pending pods that ask for GPU memory."""


UNBOUND_ACTIONS = frozenset({"evict_stale_gangs", "shuffle"})
"""Actions that evict for no claimant."""


class CycleCheck:
    """The decisions of one cycle beside the cluster before it."""

    def __init__(
        self, cluster: Cluster, decisions: Any, cycle: int, now: float, rules: Rules
    ) -> None:
        self.cluster, self.decisions, self.cycle, self.now = cluster, decisions, cycle, now
        self.rules = rules
        self.violations: list[Violation] = []
        pods = cluster.pods
        self.binds = {bind.task: bind for bind in decisions.binds}
        self.promises = {p.task: p.node for p in decisions.pipelined if p.task in pods}
        self.evicted = {eviction.task: eviction for eviction in reversed(decisions.evictions)}

    def report(self, kind: str, detail: str) -> None:
        self.violations.append(Violation(kind, self.cycle, detail))

    def run(self) -> list[Violation]:
        """Check everything."""
        if self.binds:
            self._check_binds()
        if self.promises:
            self._check_promises()
        if self.binds or self.promises:
            self._check_limits()
        if self.evicted:
            self._check_evictions()
            self._check_gangs()
            self._check_plans()
        return self.violations

    # -- where everything is

    @cached_property
    def evicted_in_order(self) -> list[Any]:
        """The evictions, each pod once."""
        return [e for e in self.decisions.evictions if self.evicted[e.task] is e]

    def _gang(self, uid: str) -> Gang | None:
        return self.cluster.pods[uid].gang

    @cached_property
    def after_binds(self) -> dict[str, dict[str, Pod]]:
        """Node → pods once the binds are done and before any eviction."""
        present = {name: dict(pods) for name, pods in self.cluster.present.items()}
        for uid, bind in self.binds.items():
            present[bind.node][uid] = self.cluster.pods[uid]
        return present

    @cached_property
    def at_last(self) -> dict[str, dict[str, Pod]]:
        """Node → pods once evicted pods are gone and promises are fulfilled."""
        present = {
            name: {uid: pod for uid, pod in pods.items() if uid not in self.evicted}
            for name, pods in self.after_binds.items()
        }
        for uid, node in self.promises.items():
            present[node][uid] = self.cluster.pods[uid]
        return present

    def _usage(self, present: Mapping[str, Mapping[str, Pod]]) -> dict[str, Amounts]:
        return self.cluster.usage(
            (pod, node) for node, pods in present.items() for pod in pods.values()
        )

    # -- binds and promises

    def _check_binds(self) -> None:
        cluster, present = self.cluster, self.after_binds
        for uid, bind in self.binds.items():
            pod = cluster.pods[uid]
            refusal = cluster.filters.refusal(pod, cluster.nodes[bind.node], present)
            if refusal:
                self.report("filter", f"{pod.key} on {bind.node}: {refusal}")
            if uid in self.evicted:
                by = self.evicted[uid]
                self.report("bound-and-evicted", f"{pod.key}, {by.action} for {by.claimant}")
        for name in {bind.node for bind in self.binds.values()}:
            node = cluster.nodes[name]
            pods = [_Bound(pod, self.binds.get(uid)) for uid, pod in present[name].items()]
            exceeded = over_capacity(node, pods)  # type: ignore[arg-type]
            if exceeded:
                self.report("node-capacity", f"{name}: {exceeded}")
        for gang in self._gangs(self.binds):
            running = gang.running() + sum(1 for pod in gang.pods if pod.key in self.binds)
            if running < gang.minimum:
                kind = (
                    "gang-bound"
                    if running + self._best_effort(gang, self.binds) < gang.minimum
                    else ("best-effort-gang")
                )
                self.report(kind, f"{gang.uid}: {running} of {gang.minimum}")

    def _best_effort(self, gang: Gang, placed: Container[str]) -> int:
        """Pods that request nothing and wait, which Volcano counts as ready."""
        return sum(
            1
            for pod in gang.pods
            if pod.request.keys() == {PODS} and not pod.node and pod.key not in placed
        )

    def _check_promises(self) -> None:
        cluster, present = self.cluster, self.at_last
        for uid, name in self.promises.items():
            pod, node = cluster.pods[uid], cluster.nodes[name]
            refusal = cluster.filters.refusal(pod, node, present)
            if refusal:
                self.report("promise", f"{pod.key} on {name}: {refusal}")
        for name in set(self.promises.values()):
            exceeded = over_capacity(cluster.nodes[name], present[name].values())
            if exceeded:
                self.report("promise", f"{name}: {exceeded}")

    def _check_limits(self) -> None:
        at_last = self._usage(self.at_last)
        usage = self._usage(
            {
                name: {uid: pod for uid, pod in pods.items() if uid not in self.promises}
                for name, pods in self.at_last.items()
            }
        )
        for kind, used, placed in (
            ("queue-limit", usage, {uid: bind.node for uid, bind in self.binds.items()}),
            ("promise-limit", at_last, self.promises),
        ):
            reported = set()
            for uid, node in placed.items():
                pod = self.cluster.pods[uid]
                over = self._over_limit(pod, node, used)
                if over and over not in reported:
                    reported.add(over)
                    self.report(kind, f"{over} with {pod.key}")

    def _over_limit(self, pod: Pod, node: str, used: Mapping[str, Amounts]) -> str:
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

    # -- evictions

    def _check_evictions(self) -> None:
        allowed = [budget.allowed for budget in self.cluster.budgets]
        for eviction in self.evicted_in_order:
            pod = self.cluster.pods[eviction.task]
            why = f"{pod.key}, {eviction.action} for {eviction.claimant or 'nobody'}"
            claimed = eviction.action not in UNBOUND_ACTIONS
            protection = _protection(pod, claimed=claimed)
            if protection:
                self.report("protected", f"{protection}: {why}")
            if self.rules.budgets and claimed:
                for number, budget in enumerate(self.cluster.budgets):
                    if budget.covers(pod):
                        allowed[number] -= 1
                        if allowed[number] < 0:
                            self.report("budget", why)

    def _check_gangs(self) -> None:
        for gang in self._gangs(self.evicted):
            before = sum(1 for pod in gang.pods if pod.node or pod.key in self.binds)
            left = [
                pod
                for pod in gang.pods
                if (pod.node or pod.key in self.binds) and pod.key not in self.evicted
            ]
            moved = [pod for pod in gang.pods if pod.key in self.promises]
            remaining = len(left) + len(moved)
            if 0 < remaining < gang.minimum <= before and left:
                by = {self.evicted[p.key].action for p in gang.pods if p.key in self.evicted}
                self.report(
                    "gang-broken",
                    f"{gang.uid}: {remaining} of {gang.minimum}, by {', '.join(sorted(by))}",
                )

    def _check_plans(self) -> None:
        plans: dict[str, list[Any]] = defaultdict(list)
        for eviction in self.evicted_in_order:
            if eviction.claimant:
                plans[eviction.claimant].append(eviction)
        held: dict[str, Amounts] | None = None
        for claimant, evictions in plans.items():
            gang = self.cluster.gangs.get(claimant)
            if gang is None:
                continue
            self._check_complete(gang, evictions)
            self._check_spareable(gang, evictions)
            if held is None:
                held = self._usage(
                    {
                        name: {**pods, **self._promised_on(name)}
                        for name, pods in self.after_binds.items()
                    }
                )
            self._check_shares(gang, evictions, held)

    def _promised_on(self, node: str) -> dict[str, Pod]:
        """Pods that are promised the node and were pending, or were evicted elsewhere."""
        return {
            uid: self.cluster.pods[uid]
            for uid, name in self.promises.items()
            if name == node and not self.cluster.pods[uid].node
        }

    def _check_complete(self, gang: Gang, evictions: list[Any]) -> None:
        running = gang.running()
        gained = sum(1 for p in gang.pods if p.key in self.binds or p.key in self.promises)
        lost = sum(1 for p in gang.pods if p.key in self.evicted and p.node)
        waiting = self._best_effort(gang, {*self.binds, *self.promises})
        if not gained or running + gained - lost + waiting < gang.minimum:
            self.report(
                "no-plan",
                f"{gang.uid}: {running}+{gained}-{lost} of {gang.minimum}, "
                f"{len(evictions)} evicted by {evictions[0].action}",
            )

    # -- victims that could stay

    def _at_plan(self, claimant: Gang, evictions: list[Any]) -> Present:
        """Node → pods once this plan and those before it are carried out."""
        last = {eviction.task for eviction in evictions}
        gone: set[str] = set()
        for eviction in self.evicted_in_order:
            gone.add(eviction.task)
            last.discard(eviction.task)
            if not last:
                break
        present = {
            name: {uid: pod for uid, pod in pods.items() if uid not in gone}
            for name, pods in self.after_binds.items()
        }
        own = [number for number, uid in enumerate(self.promises) if self._gang(uid) is claimant]
        for uid, node in list(self.promises.items())[: max(own, default=-1) + 1]:
            present[node][uid] = self.cluster.pods[uid]
        return present

    def _check_spareable(self, claimant: Gang, evictions: list[Any]) -> None:
        present = self._at_plan(claimant, evictions)
        self._check_needless(claimant, evictions, present)
        by_gang: dict[str, list[Pod]] = defaultdict(list)
        for eviction in evictions:
            pod = self.cluster.pods[eviction.task]
            if pod.node:
                by_gang[pod.gang.uid if pod.gang else pod.key].append(pod)
        for victims in by_gang.values():
            gang = victims[0].gang
            left = 0
            if gang is not None:
                left = sum(
                    1
                    for p in gang.pods
                    if (p.node or p.key in self.binds) and p.key not in self.evicted
                )
            minimum = gang.minimum if gang is not None else 1
            if left or minimum <= 1:
                for pod in victims:
                    self._report_spared(claimant, [pod], present, evictions[0].action)
            else:
                self._check_gang_spareable(claimant, victims, minimum, present, evictions[0].action)

    def _check_needless(self, claimant: Gang, evictions: list[Any], at_plan: Present) -> None:
        """Whether everything that the plan places fits somewhere without its evictions."""
        cluster, present = self.cluster, {name: dict(pods) for name, pods in at_plan.items()}
        placed = [pod for pod in claimant.pods if pod.key in self.promises]
        for pod in placed:
            del present[self.promises[pod.key]][pod.key]
        for eviction in evictions:
            pod = cluster.pods[eviction.task]
            if pod in placed or not pod.node:
                return
            present[self.promises.get(pod.key, pod.node)].pop(pod.key, None)
            present[pod.node][pod.key] = pod
        for pod in placed:
            name = self._place_for(pod, present)
            if not name:
                return
            present[name][pod.key] = pod
        used = self._usage(present)
        if any(self._over_limit(pod, self.promises[pod.key], used) for pod in placed) or (
            self.rules.deserved_is_limit and self.shares.above(claimant.queue, used[claimant.queue])
        ):
            return
        if placed:
            action = evictions[0].action
            self.report("needless", f"{len(evictions)} evicted, {action} for {claimant.uid}")

    def _place_for(self, pod: Pod, present: Present) -> str:
        for name, node in self.cluster.nodes.items():
            if not self.cluster.filters.refusal(pod, node, present) and not over_capacity(
                node, [*present[name].values(), pod]
            ):
                return name
        return ""

    def _check_gang_spareable(
        self, claimant: Gang, victims: list[Pod], needed: int, present: Present, action: str
    ) -> None:
        """A gang that went whole could stay if enough of it fits together."""
        if needed > len(victims):
            return
        together: list[Pod] = []
        for pod in victims:
            if self._fits_back([*together, pod], present) is not None:
                together.append(pod)
        if len(together) >= needed:
            self._report_spared(claimant, together, present, action)

    def _report_spared(
        self, claimant: Gang, pods: list[Pod], present: Present, action: str
    ) -> None:
        kind = self._fits_back(pods, present, claimant)
        if kind is not None:
            names = ", ".join(pod.key for pod in pods)
            self.report(kind, f"{names}, {action} for {claimant.uid}")

    def _fits_back(
        self, pods: list[Pod], at_plan: Present, claimant: Gang | None = None
    ) -> str | None:
        """The kind of violation if these victims could stay beside everything promised."""
        cluster = self.cluster
        present = dict(at_plan)
        for pod in pods:
            if pod.key in self.promises:  # It has moved; its new place becomes free.
                name = self.promises[pod.key]
                present[name] = {u: p for u, p in present[name].items() if u != pod.key}
        for pod in pods:
            present[pod.node] = {**present[pod.node], pod.key: pod}
        for name in {pod.node for pod in pods}:
            node = cluster.nodes[name]
            if over_capacity(node, present[name].values()):
                return None
        back = {pod.key for pod in pods}
        for uid, name in self.promises.items():
            if uid not in present[name] or uid in back:
                continue
            if cluster.filters.refusal(cluster.pods[uid], cluster.nodes[name], present):
                return None
        used = self._usage(present)
        if any(self._over_limit(pod, pod.node, used) for pod in pods):
            return None
        if claimant is None or not self.rules.deserved_is_limit:
            return "spareable"
        for pod in pods:
            if pod.gang is None or pod.gang.queue != claimant.queue:
                continue
            if self.shares.above(claimant.queue, used[claimant.queue]):
                return "spareable-share"
        return "spareable"

    # -- shares

    @cached_property
    def shares(self) -> shares.Shares:
        rules = self.rules
        return shares.compute(self.cluster, tree=rules.tree, gpus_of_100_mib=rules.gpus_of_100_mib)

    def _check_shares(self, claimant: Gang, evictions: list[Any], held: dict[str, Amounts]) -> None:
        """Test each victim before it goes; the pods that a gang needs go as one."""
        cluster = self.cluster
        surplus: dict[str, int] = {}
        for eviction in evictions:
            pod = cluster.pods[eviction.task]
            gang, counted = pod.gang, pod.counted(cluster.nodes.get(eviction.node))
            if gang is None or pod.key in self.promises:
                continue
            if self.rules.min_runtime:
                self._check_min_runtime(gang, claimant, eviction)
            left = surplus.setdefault(gang.uid, gang.running() - gang.minimum)
            surplus[gang.uid] = left - 1
            core_follows = left < 0
            if gang.queue != claimant.queue and not core_follows:
                self._check_share(gang, claimant, held, eviction)
            for queue in cluster.path(gang.queue):
                add(held[queue.name], counted, -1)

    def _check_share(
        self,
        gang: Gang,
        claimant: Gang,
        held: Mapping[str, Amounts],
        eviction: Any,
    ) -> None:
        cluster = self.cluster
        tree = self.rules.tree or gang.family == "kai"
        mine, theirs = (
            cluster.levelled(claimant.queue, gang.queue) if tree else (claimant.queue, gang.queue)
        )
        above = self.shares.above(theirs, held[theirs])
        if not above and gang.family == "kai":
            quota = cluster.queues[theirs].quota
            over_quota = any(
                exceeds(held[theirs].get(name, 0.0), quota.get(name, 0.0)) for name in DIMENSIONS
            )
            if over_quota and shares.within(held[mine], cluster.queues[mine].quota):
                above = ["quota"]
        detail = f"{eviction.task} of {gang.queue}, {eviction.action} for {claimant.uid}"
        if not cluster.queues[gang.queue].reclaimable:
            self.report("protected", f"queue not reclaimable: {detail}")
        if not above:
            pods = self.shares.above(theirs, held[theirs], (PODS,))
            note = " (above in pods only)" if pods and gang.family == "volcano" else ""
            self.report("within-share", detail + note)
        elif theirs != gang.queue and not self.shares.above(gang.queue, held[gang.queue]):
            self.report("leaf-within-share", detail)

    def _check_min_runtime(self, gang: Gang, claimant: Gang, eviction: Any) -> None:
        if gang.last_start is None or eviction.action == "consolidate":
            return
        runtime = self._min_runtime(gang.queue, claimant.queue)
        if self.now >= gang.last_start + runtime:
            return
        left = sum(1 for p in gang.pods if p.node and p.key not in self.evicted)
        if len(gang.pods) > gang.minimum and left >= gang.minimum:
            return
        self.report(
            "min-runtime",
            f"{eviction.task}, {eviction.action} for {claimant.uid}, "
            f"{self.now - gang.last_start:g} of {runtime:g} s",
        )

    def _min_runtime(self, victim: str, claimant: str) -> float:
        path = list(self.cluster.path(victim))
        if victim == claimant:
            stated = [queue.preempt_min_runtime for queue in path]
        else:
            _, level = self.cluster.levelled(claimant, victim)
            start = next(n for n, queue in enumerate(path) if queue.name == level)
            stated = [queue.reclaim_min_runtime for queue in path[start:]]
        return next((value for value in stated if value is not None), 0.0)

    def _gangs(self, uids: Iterable[str]) -> list[Gang]:
        pods = self.cluster.pods
        found = {pods[uid].gang for uid in uids if uid in pods}
        return sorted((gang for gang in found if gang is not None), key=lambda gang: gang.uid)


class _Bound:
    """A pod beside the bind that gives it its shared GPUs."""

    __slots__ = ("devices", "gpu_groups", "node", "pod", "request")

    def __init__(self, pod: Pod, bind: Any) -> None:
        self.pod, self.request, self.devices = pod, pod.request, pod.devices
        self.node = bind.node if bind else pod.node
        self.gpu_groups = bind.gpu_groups if bind else pod.gpu_groups

    def portion(self, node: Any) -> float:
        return self.pod.portion(node)


def _protection(pod: Pod, *, claimed: bool) -> str:
    """Why no scheduler may evict the pod, or nothing."""
    if pod.namespace == "kube-system":
        return "kube-system"
    if pod.priority_class in SYSTEM_CLASSES:
        return pod.priority_class
    if not claimed:
        return ""
    gang = pod.gang
    if gang is not None and gang.family == "kai":
        return "" if gang.preemptible else "non-preemptible"
    return "" if pod.preemptable else "not preemptable"
