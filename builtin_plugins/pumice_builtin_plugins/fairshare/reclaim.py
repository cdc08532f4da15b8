"""Whether a queue may reclaim from others, by KAI's two strategies and the utilization ratio."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from pumice import ACTIVE_STATUSES, Job, LostVictims, Plan, Task
from pumice_builtin_plugins.fairshare.quantities import (
    Quantities,
    TaskQuantities,
    add_up,
    minus,
    plus,
    within,
)
from pumice_builtin_plugins.fairshare.queues import FairQueue, below_common_ancestor


class EvictionUnit(NamedTuple):
    """What is evicted together: one elastic task, or the core tasks of a job."""

    quantities: Quantities
    involved: frozenset[int]
    """Positions of the resources that are compared by utilization ratio."""


class Reclaimer(NamedTuple):
    """The queue that reclaims, and for what."""

    queue: FairQueue
    required: EvictionUnit
    preemptible: bool


class QueueAllocation(NamedTuple):
    """What a queue held before a search for victims began."""

    allocated: Quantities
    non_preemptible: Quantities


def copy_allocations(tree: Mapping[str, FairQueue]) -> dict[str, QueueAllocation]:
    return {
        name: QueueAllocation(_as_tuple(queue.allocated), _as_tuple(queue.non_preemptible))
        for name, queue in tree.items()
    }


def _as_tuple(quantities: list[int]) -> Quantities:
    return quantities[0], quantities[1], quantities[2]


def may_reclaim(queue: FairQueue, required: Quantities, preemptible: bool) -> bool:
    """Whether the queue stays within its fair share, and a non-preemptible job in the quota."""
    if not within(plus(queue.allocated, required), queue.fair_share):
        return False
    return preemptible or within(plus(queue.non_preemptible, required), queue.quota.deserved)


# -- what would be evicted


def eviction_unit(
    tasks: Sequence[Task], quantities: TaskQuantities, *, pending: bool = False
) -> EvictionUnit:
    total = quantities.total_request(tasks) if pending else add_up(map(quantities.accepted, tasks))
    # KAI counts MIG instances in the quota, but not as involved GPUs.
    gpus = total[2] - sum(task.gpu.mig_milli for task in tasks if task.gpu.mig)
    return EvictionUnit(total, _INVOLVED[total[0] > 0, total[1] > 0, gpus > 0])


_INVOLVED = {
    signs: frozenset(i for i, positive in enumerate(signs) if positive)
    for signs in product((False, True), repeat=3)
}
"""By whether each resource is positive: the positions of those that are."""


def eviction_units(
    job: Job, tasks: Sequence[Task], quantities: TaskQuantities, *, ignore_moved: bool
) -> list[EvictionUnit]:
    """A victim job's units: each elastic task alone, and its core tasks together.

    ``ignore_moved`` leaves out tasks that hold a place again after the simulation.
    """
    if len(tasks) == 1:
        # A single task is one unit, whether core or elastic.
        moved = ignore_moved and tasks[0].status in ACTIVE_STATUSES
        return [] if moved else [eviction_unit(tasks, quantities)]
    counts: dict[str, int] = {}
    core: list[Task] = []
    elastic: list[Task] = []
    for task in tasks:
        assert task.sub_job is not None
        pod_set = task.sub_job.uid
        counts[pod_set] = counts.get(pod_set, 0) + 1
        minimum = job.sub_jobs[pod_set].min_available
        (core if counts[pod_set] <= minimum else elastic).append(task)
    if ignore_moved:
        core = [task for task in core if task.status not in ACTIVE_STATUSES]
        elastic = [task for task in elastic if task.status not in ACTIVE_STATUSES]
    units = [eviction_unit([task], quantities) for task in elastic]
    return [*units, eviction_unit(core, quantities)] if core else units


def units_by_queue(plan: Plan, quantities: TaskQuantities) -> dict[str, list[EvictionUnit]]:
    """The eviction units of a plan by leaf queue."""
    by_queue: dict[str, list[EvictionUnit]] = {}
    for victim in plan.victims.values():
        units = eviction_units(
            victim.job, victim.tasks, quantities, ignore_moved=plan.allow_consolidating
        )
        if units:
            by_queue.setdefault(victim.job.queue, []).extend(units)
    return by_queue


def least_losses(
    lost: Iterable[LostVictims], quantities: TaskQuantities
) -> dict[str, list[Quantities]]:
    """What is lost at least, by leaf queue and victim job."""
    by_queue: dict[str, list[Quantities]] = {}
    for job, tasks, at_least in lost:
        least = quantities.accepted(tasks[0])
        for task in tasks[1:]:
            held = quantities.accepted(task)
            if held is not least:
                least = min(least[0], held[0]), min(least[1], held[1]), min(least[2], held[2])
        by_queue.setdefault(job.queue, []).append(
            (least[0] * at_least, least[1] * at_least, least[2] * at_least)
        )
    return by_queue


# -- whether it may be evicted


class ReclaimValidator:
    """Validates one reclaim plan against what queues held before it was simulated."""

    def __init__(
        self,
        tree: Mapping[str, FairQueue],
        before: Mapping[str, QueueAllocation],
        multiplier: Fraction,
    ) -> None:
        self._tree = tree
        self._before = before
        self._multiplier = multiplier
        self.remaining: dict[str, Quantities] = {}
        """By name of a queue that loses something: what it would hold afterwards."""
        self._involved: dict[str, frozenset[int]] = {}

    def allows(self, reclaimer: Reclaimer, evicted: Mapping[str, list[EvictionUnit]]) -> bool:
        return self._may_evict_all(reclaimer, evicted) and all(
            self._stays_fair(reclaimer, queue) for queue in reclaimer.queue.path
        )

    def refuses_more(self, reclaimer: Reclaimer, evicted: Mapping[str, list[EvictionUnit]]) -> bool:
        """Whether no plan is allowed that evicts so much and more of other queues.

        The more a queue loses, the less it may lose, and the lower is its ratio. Above the leaf
        queue that reclaims, a queue may lose something itself, which lowers its own ratio, too.
        """
        return not self._may_evict_all(reclaimer, evicted) or not self._stays_fair(
            reclaimer, reclaimer.queue
        )

    def _may_evict_all(
        self, reclaimer: Reclaimer, evicted: Mapping[str, list[EvictionUnit]]
    ) -> bool:
        for name, units in evicted.items():
            victim = self._tree.get(name)
            if victim is None:
                return False
            ours, theirs = below_common_ancestor(reclaimer.queue, victim)
            for unit in units:
                # KAI tests before it subtracts: the last unit may cut below the fair share.
                if not self._may_evict(reclaimer, ours, theirs, self._allocated(theirs)):
                    return False
                self._evict(victim, unit)
        return True

    def refuses(self, reclaimer: Reclaimer, lost: Mapping[str, list[Quantities]]) -> bool:
        """Whether no plan is allowed with these losses by leaf queue, whatever else it evicts.

        ``lost`` has one entry for each victim job, in the order of the plan. Of the losses before
        an eviction only those of the same leaf queue are certain: the order of queues is not.
        """
        for name, losses in lost.items():
            victim = self._tree.get(name)
            if victim is None:
                return True
            ours, theirs = below_common_ancestor(reclaimer.queue, victim)
            remaining = self._before[theirs.name].allocated
            for quantities in losses:
                if not self._may_evict(reclaimer, ours, theirs, remaining):
                    return True
                remaining = minus(remaining, quantities)
        return False

    def _may_evict(
        self, reclaimer: Reclaimer, ours: FairQueue, theirs: FairQueue, remaining: Quantities
    ) -> bool:
        """Maintain fair share: they are above theirs; or guarantee quota: we stay within ours.

        ``remaining`` is what they would hold before the eviction.
        """
        if not within(remaining, theirs.allocatable):
            return True
        with_required = plus(self._before[ours.name].allocated, reclaimer.required.quantities)
        return within(with_required, ours.quota.deserved) and not within(
            remaining, theirs.quota.deserved
        )

    def _evict(self, victim: FairQueue, unit: EvictionUnit) -> None:
        evicted, involved = unit.quantities, unit.involved
        for queue in victim.path:
            held, name = self._allocated(queue), queue.name
            self.remaining[name] = (
                held[0] - evicted[0],
                held[1] - evicted[1],
                held[2] - evicted[2],
            )
            before = self._involved.get(name)
            if before is not involved:
                self._involved[name] = involved if before is None else before | involved

    def _allocated(self, queue: FairQueue) -> Quantities:
        remaining = self.remaining.get(queue.name)
        return self._before[queue.name].allocated if remaining is None else remaining

    def _stays_fair(self, reclaimer: Reclaimer, queue: FairQueue) -> bool:
        """Whether no sibling that loses something ends up with a lower utilization ratio."""
        required = reclaimer.required
        after = plus(self._allocated(queue), required.quantities)
        for name, remaining in self.remaining.items():
            sibling = self._tree[name]
            if sibling is queue or sibling.parent is not queue.parent:
                continue
            for i in self._involved[name] | required.involved:
                if self._exceeds_ratio(
                    after[i], queue.fair_share[i], remaining[i], sibling.fair_share[i]
                ):
                    return False
        if reclaimer.preemptible:
            return True
        non_preemptible = plus(self._before[queue.name].non_preemptible, required.quantities)
        return within(non_preemptible, queue.quota.deserved)

    def _exceeds_ratio(self, ours: int, our_share: int, theirs: int, their_share: int) -> bool:
        """Whether we are above our fair share with at least their ratio, times the multiplier."""
        if ours <= our_share or their_share <= 0:
            return False
        return not our_share or ours * self._multiplier * their_share >= theirs * our_share
