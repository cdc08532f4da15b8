"""Runs cycles that touch nothing, and compares them with what the scheduler in charge does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from pumice.decisions import Bind, Decisions, Eviction
from pumice.manifests.metadata import epoch
from pumice.shadow.report import BoundPod, ShadowCycle, ShadowSummary, Share

if TYPE_CHECKING:
    from pumice.model.facts import Inventory, Pod
    from pumice.scheduler import Scheduler
    from pumice.session.session import Session


@dataclass(slots=True)
class Waiting:
    """A pod that waits in the cluster."""

    seen: float
    """When it last was seen to wait."""
    node: str = ""
    """The node that the shadow decided first; empty: none yet."""
    decided: float = 0.0
    """When it decided that."""


class Shadow:
    """Runs the cycles of a scheduler whose backend carries nothing out, and compares.

    Every cycle starts from the cluster as it is, so decisions do not add up: what the shadow
    decided first for a pod is what counts, and it is compared with what becomes of the pod.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._waiting: dict[str, Waiting] = {}
        self._known: set[str] = set()
        """Pods of the last cycle."""
        self._evicted: set[str] = set()
        """Evicted pods that are still there."""
        self._would_evict: dict[str, Eviction] = {}
        self._reasons: dict[str, tuple[str, str]] = {}
        """By job: reason code and reason in the last cycle."""
        self._summary = ShadowSummary()
        self._last: ShadowCycle | None = None
        self._waits = [0.0, 0.0]
        """Seconds from creation to bind of all pods that both have bound: actual, shadow."""
        self._used: dict[str, tuple[float, float]] = {}
        """By resource: utilisation times seconds, actual and shadow."""

    def run_cycle(self) -> ShadowCycle:
        """Decide one cycle and compare."""
        session = self.scheduler.run_session()
        inventory, now = session.cluster.inventory, session.now
        bound = tuple(self._bound(inventory, now))
        cycle = ShadowCycle(
            cycle=self.scheduler.cycle,
            time=now,
            bound=bound,
            unseen=self._count_unseen(inventory),
            evicted=tuple(self._new_evictions(inventory)),
            would_bind=tuple(self._decided_binds(inventory, session.decisions, now)),
            would_evict=tuple(self._decided_evictions(inventory, session.decisions)),
            utilisation=utilisation(session),
        )
        self._known = set(inventory.pods)
        self._reasons = {state.job: (state.code, state.reason) for state in session.decisions.jobs}
        self._add_up(cycle)
        return cycle

    def summary(self) -> ShadowSummary:
        """All cycles so far."""
        last, both = self._last, self._summary.same + self._summary.other_node
        pending = [pod for pod in self._waiting.values() if pod.node]
        seconds = self._summary.seconds
        return replace(
            self._summary,
            wait=Share(*(total / both if both else 0.0 for total in self._waits)),
            would_start=len(pending),
            would_start_seconds=sum(last.time - pod.decided for pod in pending) if last else 0.0,
            utilisation={
                name: Share(actual / seconds, shadow / seconds)
                for name, (actual, shadow) in self._used.items()
            }
            if seconds
            else dict(last.utilisation if last else {}),
        )

    # -- what the scheduler in charge has done

    def _bound(self, inventory: Inventory, now: float) -> Iterator[BoundPod]:
        """Pods that waited in the last cycle and have been bound since."""
        for uid, waiting in list(self._waiting.items()):
            pod = inventory.pods.get(uid)
            if pod is not None and waits(pod):
                waiting.seen = now
                continue
            del self._waiting[uid]
            if pod is None or not pod.node_name:
                continue
            if not waiting.node:
                code, reason = self._reasons.get(pod.group, ("", ""))
                yield BoundPod(pod.key, pod.node_name, "waits", code=code, reason=reason)
                continue
            at = min(max(bound_at(pod, now), waiting.seen), now)
            self._waits[0] += max(0.0, at - pod.created)
            self._waits[1] += max(0.0, waiting.decided - pod.created)
            yield BoundPod(
                pod.key,
                pod.node_name,
                "same" if waiting.node == pod.node_name else "other_node",
                waiting.node,
                at - waiting.decided,
            )

    def _count_unseen(self, inventory: Inventory) -> int:
        """Pods that no cycle has seen to wait; those of the first cycle were there before."""
        if self._last is None:
            return 0
        return sum(
            bool(pod.node_name and pod.group in inventory.groups)
            for uid, pod in inventory.pods.items()
            if uid not in self._known
        )

    def _new_evictions(self, inventory: Inventory) -> Iterator[str]:
        self._evicted &= inventory.pods.keys()
        for uid, pod in inventory.pods.items():
            if pod.deleted is None or uid in self._evicted or not is_disrupted(pod):
                continue
            self._evicted.add(uid)
            if self._last is None:
                continue  # before the first cycle
            self._summary.both_evict += uid in self._would_evict
            yield pod.key

    # -- what the shadow decides

    def _decided_binds(
        self, inventory: Inventory, decisions: Decisions, now: float
    ) -> Iterator[Bind]:
        for uid, pod in inventory.pods.items():
            if uid not in self._waiting and waits(pod) and pod.group in inventory.groups:
                self._waiting[uid] = Waiting(now)
        for bind in decisions.binds:
            waiting = self._waiting.get(bind.uid)
            if waiting is not None and not waiting.node:
                waiting.node, waiting.decided = bind.node, now
                yield bind

    def _decided_evictions(self, inventory: Inventory, decisions: Decisions) -> Iterator[Eviction]:
        self._would_evict = {u: e for u, e in self._would_evict.items() if u in inventory.pods}
        for eviction in decisions.evictions:
            if eviction.uid not in self._would_evict:
                self._would_evict[eviction.uid] = eviction
                yield eviction

    # -- the summary

    def _add_up(self, cycle: ShadowCycle) -> None:
        summary = self._summary
        if self._last is not None:
            seconds = max(0.0, cycle.time - self._last.time)
            summary.seconds += seconds
            for name, share in self._last.utilisation.items():
                actual, shadow = self._used.get(name, (0.0, 0.0))
                self._used[name] = actual + share.actual * seconds, shadow + share.shadow * seconds
        self._last = cycle
        summary.cycles += 1
        summary.differing += cycle.differs
        summary.bound += len(cycle.bound)
        summary.same += sum(pod.outcome == "same" for pod in cycle.bound)
        summary.other_node += sum(pod.outcome == "other_node" for pod in cycle.bound)
        summary.waits += sum(pod.outcome == "waits" for pod in cycle.bound)
        summary.unseen += cycle.unseen
        summary.evicted += len(cycle.evicted)
        summary.would_evict += len(cycle.would_evict)


def waits(pod: Pod) -> bool:
    """Whether a pod is to be scheduled."""
    return pod.phase == "Pending" and not pod.node_name and pod.deleted is None


def bound_at(pod: Pod, now: float) -> float:
    """When a pod was bound, to the second; ``now`` where its conditions do not say."""
    since = condition(pod, "PodScheduled").get("lastTransitionTime")
    try:
        return epoch(datetime.fromisoformat(str(since)))
    except ValueError:
        return now


def is_disrupted(pod: Pod) -> bool:
    """Whether a scheduler or the eviction API ends the pod, and not its owner."""
    return condition(pod, "DisruptionTarget").get("status") == "True"


def condition(pod: Pod, kind: str) -> Mapping[str, object]:
    """The condition of this type; empty: the pod has none."""
    return next((one for one in pod.conditions if one.get("type") == kind), {})


def utilisation(session: Session) -> dict[str, Share]:
    """The part of each resource in use, before and after the decisions of a session."""
    nodes, tasks, decisions = session.nodes, session.cluster.tasks, session.decisions
    total = nodes.allocatable.sum(axis=0)
    after = nodes.used.sum(axis=0)
    before = after.copy()

    def add(vector: np.ndarray, sign: int, *uids: str) -> None:
        for uid in uids:
            if uid in tasks:
                vector += sign * tasks[uid].vector

    add(before, -1, *(bind.uid for bind in decisions.binds))
    add(after, -1, *{eviction.uid for eviction in decisions.evictions})
    add(after, 1, *(task.uid for task in decisions.pipelined))
    return {
        name: Share(float(before[i] / total[i]), float(after[i] / total[i]))
        for i, name in enumerate(nodes.dimensions.names)
        if total[i] > 0 and max(before[i], after[i]) > 0
    }
