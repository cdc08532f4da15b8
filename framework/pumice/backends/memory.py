"""The embedded cluster: an inventory in memory that carries decisions out between cycles."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pumice.backends.state import ClusterState
from pumice.decisions import Bind, Decisions, JobState, PipelinedTask
from pumice.model.facts import Inventory, Pod, PodGroup
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from collections.abc import Mapping

Between = Literal["settle", "recreate", "none"]
"""What becomes of decisions before the next cycle.

``settle``: a bound pod runs, an evicted one is gone. ``recreate``: the same, but an evicted pod
comes back as a fresh pending one, as its controller would make it. ``none``: nothing is finished,
so that bound pods stay Binding and evicted ones Releasing, and the pod groups stay as they were.
"""

_EPOCH = datetime(2026, 1, 1, 12, tzinfo=UTC).timestamp()
"""The time of a cluster whose objects have none."""


class MemoryBackend:
    """Schedules objects that were read from files; nothing outside this process is touched.

    Decisions are only recorded when they are applied; :meth:`advance` carries them out. The clock
    stands still but for :meth:`step`.
    """

    def __init__(
        self,
        inventory: Inventory,
        *,
        now: float | None = None,
        between: Between = "settle",
        eviction_takes: int = 0,
    ) -> None:
        self._inventory = inventory
        self._now = latest(inventory) + 1 if now is None else now
        self._between = between
        self._eviction_takes = eviction_takes
        self._terminating: dict[str, int] = {}
        """By uid of an evicted pod: for how many more cycles it holds its resources."""
        self._due: list[Decisions] = []
        self.history: list[Decisions] = []
        """The decisions of every cycle so far."""

    @classmethod
    def from_files(cls, paths: Iterable[str | Path], *, default_queue: str = "default") -> Self:
        """A cluster read from manifests."""
        from pumice.manifests import load

        return cls(load(paths, default_queue=default_queue))

    @classmethod
    def from_state(cls, state: ClusterState, **settings: Any) -> Self:
        """The cluster that :meth:`state` describes."""
        backend = cls(state.inventory, now=state.clock, **settings)
        backend._terminating = dict(state.terminating)
        return backend

    def state(self, cycle: int = 0) -> ClusterState:
        """What a later run needs to go on after this cycle, once its decisions are carried out."""
        return ClusterState(self._inventory, self._now, cycle, dict(self._terminating))

    # -- what a scheduler asks

    def snapshot(self) -> Inventory:
        """The facts as they are now."""
        return self._inventory

    def apply(self, decisions: Decisions) -> None:
        """Note the decisions; ``advance`` carries them out."""
        self.history.append(decisions)
        self._due.append(decisions)

    def now(self) -> float:
        """Epoch seconds by the cluster's clock."""
        return self._now

    # -- between cycles

    def step(self, seconds: float) -> None:
        """Let time pass."""
        self._now += seconds

    def replace(self, inventory: Inventory) -> None:
        """Go on with other facts, as when objects have come or gone from outside."""
        self._inventory = inventory

    def advance(self) -> None:
        """Carry out what was decided since the last time."""
        # The cluster of an earlier cycle refers to the old tables.
        pods, groups = dict(self._inventory.pods), dict(self._inventory.groups)
        self._inventory = replace(self._inventory, pods=pods, groups=groups)
        self._wait_for_terminating()
        for decisions in self._due:
            self._inventory.eviction_log = decisions.eviction_log
            for bind in decisions.binds:
                self._start(bind)
            # A task may be evicted twice in one cycle, for two preemptors.
            for uid in dict.fromkeys(eviction.uid for eviction in decisions.evictions):
                self._evict(uid)
            if self._between == "recreate":
                self._recreate_terminated()
            if self._between == "settle":
                for task in decisions.pipelined:
                    self._nominate(task)
            if self._between != "none":
                for state in decisions.jobs:
                    self._write_status(state)
        self._due.clear()

    def _start(self, bind: Bind) -> None:
        pods = self._inventory.pods
        pod = pods.get(bind.uid)
        if pod is None:
            return
        annotations = {**pod.annotations, **bind.annotations}
        moved = _moved(
            pod,
            node_name=bind.node,
            annotations=annotations,
            gpu_groups=tuple(bind.gpu_groups),
        )
        if self._between == "none":
            pods[bind.uid] = replace(moved, status_override=TaskStatus.BINDING.label)
        else:
            scheduled = {
                "type": "PodScheduled",
                "status": "True",
                "lastTransitionTime": datetime.fromtimestamp(self._now, UTC).isoformat(),
            }
            conditions = _by_type((*pod.conditions, scheduled))
            pods[bind.uid] = replace(
                moved,
                phase="Running",
                nominated_node="",
                start_time=self._now,
                conditions=conditions,
            )

    def _evict(self, uid: str) -> None:
        pods = self._inventory.pods
        pod = pods.get(uid)
        if pod is None or uid in self._terminating:
            return
        if self._between == "none":
            pods[uid] = _moved(pod, deleted=self._now)
        elif self._eviction_takes:
            # A terminating pod still uses its GPUs.
            pods[uid] = _moved(pod, deleted=self._now, gpu_groups=pod.gpu_groups)
            self._terminating[uid] = self._eviction_takes
        else:
            self._end(uid)

    def _recreate_terminated(self) -> None:
        """End the pods that were terminating before the cycle, and recreate them."""
        for uid, pod in list(self._inventory.pods.items()):
            terminating = (
                pod.deleted is not None or pod.status_override == TaskStatus.RELEASING.label
            )
            if terminating and uid not in self._terminating and self.recreates(pod):
                self._end(uid)

    def recreates(self, pod: Pod) -> bool:
        """Whether the pod's controller makes a new pod for one that ends (``recreate`` only)."""
        return True

    def _wait_for_terminating(self) -> None:
        for uid in list(self._terminating):
            self._terminating[uid] -= 1
            if not self._terminating[uid]:
                del self._terminating[uid]
                self._end(uid)

    def _end(self, uid: str) -> None:
        pod = self._inventory.pods.pop(uid, None)
        if pod is None:  # It has gone from outside meanwhile.
            return
        if self._between == "recreate" and self.recreates(pod):
            self._inventory.pods[uid] = _moved(
                pod, phase="Pending", node_name="", deleted=None, start_time=None, conditions=()
            )

    def _nominate(self, task: PipelinedTask) -> None:
        pod = self._inventory.pods.get(task.uid)
        if pod is not None and task.eviction_occurred and task.node:
            self._inventory.pods[task.uid] = replace(pod, nominated_node=task.node)

    def _write_status(self, state: JobState) -> None:
        group = self._inventory.groups.get(state.job)
        decided = (state.phase, state.last_start, state.stale_since)
        if group is not None and (_status(group) != decided or state.conditions):
            self._inventory.groups[state.job] = _with_status(group, state)


def latest(inventory: Inventory) -> float:
    """The latest time that any object states; a fixed time where none does."""
    created = (
        fact.created
        for facts in (inventory.pods, inventory.nodes, inventory.groups, inventory.queues)
        for fact in facts.values()
    )
    pods = (t for pod in inventory.pods.values() for t in (pod.start_time, pod.deleted) if t)
    return max((*created, *pods), default=0.0) or _EPOCH


def _moved(pod: Pod, **changes: Any) -> Pod:
    """The pod with changes; what the backend reported of its status and GPUs no longer holds."""
    return replace(pod, **{"status_override": "", "gpu_groups": (), **changes})


def _with_status(group: PodGroup, state: JobState) -> PodGroup:
    conditions = _by_type((*group.conditions, *state.conditions))
    return replace(
        group,
        phase=state.phase,
        conditions=conditions,
        last_start=state.last_start,
        stale_since=state.stale_since,
    )


def _status(group: PodGroup) -> tuple[str, float | None, float | None]:
    return (group.phase, group.last_start, group.stale_since)


def _by_type(conditions: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """One condition per type, the last one given."""
    return tuple({condition.get("type"): condition for condition in conditions}.values())
