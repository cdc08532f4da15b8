"""The inventory of a cycle: the facts, with what was decided and has not come back yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pumice import (
    Bind,
    EvictionLog,
    Inventory,
    JobState,
    Pod,
    PodGroup,
    Queue,
    Reservation,
    ReservedTask,
)
from pumice.manifests import NATIVE_API, SCHEDULED, completed, link
from pumice_kubernetes.gangs import first_of, make_group
from pumice_kubernetes.store import Store, same_fact

_VOLATILE = ("transitionID", "lastTransitionTime")
_WAITING = "Waiting"
"""The condition of a job that waits; it ends with the cycle in which the job does not."""
_ASSUMED_SECONDS = 60.0
"""After so long, what the cluster reports counts, even if it contradicts what it had accepted."""


@dataclass(slots=True)
class Assumed:
    """A pod as it is after a decision that the cluster has accepted and not yet reported."""

    pod: Pod
    base: Pod
    """The fact that it replaces."""
    until: float


class LiveInventory:
    """Makes the inventory of each cycle; objects that have not changed are the same ones."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._assumed: dict[str, Assumed] = {}
        self._made: dict[str, PodGroup] = {}
        """Groups that are made of pods, by uid."""
        self._completed: dict[str, PodGroup] = {}
        """Native groups with what their pods and Workloads say, by uid."""
        self._written: dict[str, tuple[PodGroup, PodGroup]] = {}
        """By uid of a PodGroup: the fact, and the same with the status of the last cycle."""
        self._queues: dict[str, Queue] = {}
        self._queue_facts: list[Any] = []
        self.log: EvictionLog | None = None
        """What past evictions leave for the next cycle; None: not known, as after a start."""

    def snapshot(self, now: float) -> Inventory:
        """The facts as they are now."""
        store = self._store
        with store.lock:
            tables = {name: dict(table) for name, table in store.tables.items()}
            others = {kind: dict(table) for kind, table in store.others.items()}
            self._refresh_gangs()
        pods = tables.get("pods", {})
        self._assume(pods, others.get("BindRequest", {}), now)
        groups = {**tables.get("groups", {}), **self._completed, **self._made}
        self._show_written(groups)
        inventory = Inventory(
            pods=pods,
            nodes=tables.get("nodes", {}),
            groups=groups,
            queues=self._linked_queues(tables.get("queues", {}), groups),
            priority_classes=tables.get("priority_classes", {}),
            budgets=tables.get("budgets", {}),
            hypernodes=tables.get("hypernodes", {}),
            quotas=tables.get("quotas", {}),
            others=others,
        )
        link(inventory, {}, store.default_queue)
        self._queues = dict(inventory.queues)
        for problem in inventory.problems:
            store.report(problem.object, problem.message)
        if self.log is None:
            self.log = nominations(inventory, now)
        inventory.eviction_log = self.log
        return inventory

    # -- what was decided

    def bound(self, bind: Bind, now: float) -> None:
        """The cluster has accepted a bind, or KAI's binder was asked for it."""
        pod = self._store.tables["pods"].get(bind.uid)
        if pod is not None and not pod.node_name:
            more = bind.annotations
            seen = {**pod.annotations, **more} if more else pod.annotations
            groups = bind.gpu_groups or pod.gpu_groups
            new = replace(pod, node_name=bind.node, annotations=seen, gpu_groups=groups)
            self._add(pod, new, now)

    def evicted(self, uid: str, now: float) -> None:
        """The cluster has accepted an eviction."""
        pod = self._store.tables["pods"].get(uid)
        if pod is not None and pod.deleted is None:
            self._add(pod, replace(pod, deleted=now), now)

    def _add(self, base: Pod, pod: Pod, now: float) -> None:
        self._assumed[pod.uid] = Assumed(pod, base, now + _ASSUMED_SECONDS)

    def decided(self, states: Sequence[JobState]) -> list[tuple[PodGroup, JobState]]:
        """Take over the status of jobs; returns those whose status has changed."""
        changed = []
        facts = self._store.tables["groups"]
        for state in states:
            made = self._made.get(state.job)
            group = made or self._completed.get(state.job) or facts.get(state.job)
            if group is None:
                continue
            if group.api_group == NATIVE_API:
                state = native_state(state)
            shown = self._written.get(state.job, (group, group))[1]
            if not differs(shown, state):
                continue
            new = with_status(shown, state)
            changed.append((new, state))
            if made is not None:
                self._made[state.job] = new
            else:
                self._written[state.job] = (group, new)
        return changed

    # -- inside

    def _refresh_gangs(self) -> None:
        store = self._store
        for uid in store.dirty_gangs:
            pods = store.gangs.get(uid) or {}
            if not pods:
                store.gangs.pop(uid, None)
            fact: PodGroup | None = store.tables["groups"].get(uid)
            if fact is not None and fact.api_group == NATIVE_API:
                self._completed[uid] = self._complete(fact, pods)
            else:
                self._completed.pop(uid, None)
            plain = [pod for pod in pods.values() if store.is_plain(pod)]
            old = self._made.pop(uid, None)
            if plain and fact is None:  # a gang with the name of a pod group belongs to it
                queue = store.default_queue
                self._made[uid] = make_group(uid, plain, store.jobs, queue, old)
        store.dirty_gangs.clear()

    def _complete(self, fact: PodGroup, pods: Mapping[str, Pod]) -> PodGroup:
        """A native group with its queue and priority; its status has no room for the phase."""
        store = self._store
        first = first_of(pods.values()) if pods else None
        group = completed(fact, store.others["Workload"], first, store.default_queue)
        old = self._completed.get(fact.uid)
        if old is None:
            return group
        phase = self._written.get(fact.uid, (old, old))[1].phase
        group = group if group.phase == phase else replace(group, phase=phase)
        return old if same_fact(old, group) else group

    def _assume(self, pods: dict[str, Pod], requests: Mapping[str, Any], now: float) -> None:
        for uid, assumed in list(self._assumed.items()):
            fact = pods.get(uid)
            came = fact is None or fact.node_name == assumed.pod.node_name
            if assumed.pod.gpu_groups and assumed.pod.key in requests:
                came = True  # the model counts what KAI's binder is asked for
            if assumed.pod.deleted is not None:
                came = fact is None or fact.deleted is not None
            if fact is None or came or now > assumed.until:
                del self._assumed[uid]
                continue
            if fact is not assumed.base:
                node, deleted = assumed.pod.node_name, assumed.pod.deleted
                groups = assumed.pod.gpu_groups
                assumed.pod = replace(fact, node_name=node, deleted=deleted, gpu_groups=groups)
                assumed.base = fact
            pods[uid] = assumed.pod

    def _show_written(self, groups: dict[str, PodGroup]) -> None:
        for uid, (fact, shown) in list(self._written.items()):
            if groups.get(uid) is fact:
                groups[uid] = shown
            else:
                del self._written[uid]

    def _linked_queues(
        self, facts: dict[str, Queue], groups: Mapping[str, PodGroup]
    ) -> dict[str, Queue]:
        """Copies of the queues, since linking changes them; the same ones while nothing changes.

        In a cluster without any, each queue that a pod names exists, and all have one weight.
        """
        named = set() if facts else {group.queue for group in groups.values()}
        listed = [*facts.values(), *sorted(named)]
        if len(listed) != len(self._queue_facts) or any(
            old is not new and old != new
            for old, new in zip(self._queue_facts, listed, strict=True)
        ):
            self._queue_facts = listed
            known = {} if facts else self._queues
            self._queues = {name: replace(queue, children=[]) for name, queue in facts.items()}
            self._queues |= {name: known.get(name) or Queue(name) for name in sorted(named)}
        return dict(self._queues)


def differs(group: PodGroup, state: JobState) -> bool:
    """Whether a job's state is another than its group shows."""
    if (group.phase, group.last_start, group.stale_since) != (
        state.phase,
        state.last_start,
        state.stale_since,
    ):
        return True
    known = {c.get("type"): _lasting(c) for c in group.conditions}
    if _WAITING in known and _WAITING not in {c.get("type") for c in state.conditions}:
        return True
    return any(known.get(c.get("type")) != _lasting(c) for c in state.conditions)


def native_state(state: JobState) -> JobState:
    """A job's state with the conditions that a native pod group has."""
    placed = state.phase in ("Running", "Completed")
    condition = {
        "type": SCHEDULED,
        "status": "True" if placed else "False",
        "reason": "Scheduled" if placed else "Unschedulable",
        "message": "" if placed else state.reason or "it waits for its turn",
    }
    return replace(state, conditions=(condition,))


def with_status(group: PodGroup, state: JobState) -> PodGroup:
    """The group with the status that was decided; conditions by type, the last one counts."""
    lasting = (c for c in group.conditions if c.get("type") != _WAITING)
    conditions = {c.get("type"): c for c in (*lasting, *state.conditions)}
    return replace(
        group,
        phase=state.phase,
        conditions=tuple(conditions.values()),
        last_start=state.last_start,
        stale_since=state.stale_since,
    )


def _lasting(condition: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in condition.items() if key not in _VOLATILE and value}


def nominations(inventory: Inventory, now: float, seconds: float = 300.0) -> EvictionLog:
    """What an earlier scheduler freed for pods that still wait, by their nominated nodes."""
    held: dict[str, list[ReservedTask]] = {}
    for uid, pod in sorted(inventory.pods.items()):
        waits = pod.phase == "Pending" and not pod.node_name and pod.deleted is None
        if waits and pod.nominated_node and pod.group in inventory.groups:
            held.setdefault(pod.group, []).append(ReservedTask(uid, pod.nominated_node))
    return EvictionLog(
        {job: Reservation(job, tuple(tasks), now + seconds) for job, tasks in held.items()}
    )
