"""Whether one queue may take room from others: two strategies, and nobody overtakes its victims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

from pumice import Job, Task, TaskStatus
from pumice_builtin_plugins.fairshare.amounts import Amount, Amounts, add_up, plus, within
from pumice_builtin_plugins.fairshare.queues import FairQueue

_S = TaskStatus
_ACTIVE = frozenset({_S.ALLOCATED, _S.PIPELINED, _S.BINDING, _S.BOUND, _S.RUNNING})


class EvictionUnit(NamedTuple):
    """What goes together when victims go: one spare task, or the core of a job."""

    amount: Amount
    involved: frozenset[int]
    """Positions of the resources that the reclaimer may be after."""


class Reclaimer(NamedTuple):
    """Who wants room."""

    queue: FairQueue
    required: EvictionUnit
    preemptible: bool


class Books(NamedTuple):
    """What a queue held before a search for victims began."""

    allocated: Amount
    non_preemptible: Amount


def copy_books(tree: Mapping[str, FairQueue]) -> dict[str, Books]:
    return {
        name: Books(_fixed(queue.allocated), _fixed(queue.non_preemptible))
        for name, queue in tree.items()
    }


def _fixed(amount: list[int]) -> Amount:
    return amount[0], amount[1], amount[2]


def may_reclaim(queue: FairQueue, required: Amount, preemptible: bool) -> bool:
    """Whether the queue would stay within its fair share, and its quota where it must."""
    if not within(plus(queue.allocated, required), queue.fair_share):
        return False
    return preemptible or within(plus(queue.non_preemptible, required), queue.terms.deserved)


# -- what would be taken


def lump_of(tasks: Sequence[Task], amounts: Amounts, *, waiting: bool = False) -> EvictionUnit:
    counted = amounts.total_request(tasks) if waiting else add_up(map(amounts.held, tasks))
    # A MIG instance weighs on the quota, but nobody reclaims whole GPUs by it.
    whole = counted[2] - sum(task.gpu.mig_milli for task in tasks if task.gpu.mig)
    return EvictionUnit(counted, _POSITIVE[counted[0] > 0, counted[1] > 0, whole > 0])


_POSITIVE = {
    signs: frozenset(i for i, positive in enumerate(signs) if positive)
    for signs in product((False, True), repeat=3)
}
"""By whether something of each resource is taken: the positions of those of which it is."""


def lumps_of(
    job: Job, tasks: Sequence[Task], amounts: Amounts, *, ignore_moved: bool
) -> list[EvictionUnit]:
    """What a victim job gives: each task beyond the minimums, and the rest as a whole.

    ``ignore_moved`` leaves out tasks that have a place again.
    """
    if len(tasks) == 1:
        # One alone is one lump, beyond the minimums or not.
        moved = ignore_moved and tasks[0].status in _ACTIVE
        return [] if moved else [lump_of(tasks, amounts)]
    seen: dict[str, int] = {}
    core: list[Task] = []
    spare: list[Task] = []
    for task in tasks:
        assert task.sub_job is not None
        pod_set = task.sub_job.uid
        seen[pod_set] = seen.get(pod_set, 0) + 1
        minimum = job.sub_jobs[pod_set].min_available
        (core if seen[pod_set] <= minimum else spare).append(task)
    if ignore_moved:
        core = [task for task in core if task.status not in _ACTIVE]
        spare = [task for task in spare if task.status not in _ACTIVE]
    lumps = [lump_of([task], amounts) for task in spare]
    return [*lumps, lump_of(core, amounts)] if core else lumps


def lumps_by_queue(plan: Any, amounts: Amounts) -> dict[str, list[EvictionUnit]]:
    """What each leaf queue gives in a scenario of the solver."""
    found: dict[str, list[EvictionUnit]] = {}
    for victim in plan.victims.values():
        lumps = lumps_of(victim.job, victim.tasks, amounts, ignore_moved=plan.allow_consolidating)
        if lumps:
            found.setdefault(victim.job.queue, []).extend(lumps)
    return found


# -- whether it may be taken


class ReclaimValidator:
    """Judges one reclaim plan by the books from before it was simulated."""

    def __init__(
        self, tree: Mapping[str, FairQueue], books: Mapping[str, Books], multiplier: Fraction
    ) -> None:
        self._tree = tree
        self._books = books
        self._multiplier = multiplier
        self.left: dict[str, Amount] = {}
        """By name of a queue that loses something: what it would hold afterwards."""
        self._involved: dict[str, frozenset[int]] = {}

    def allows(self, reclaimer: Reclaimer, taken: Mapping[str, list[EvictionUnit]]) -> bool:
        for name, lumps in taken.items():
            victim = self._tree.get(name)
            if victim is None:
                return False
            ours, theirs = rivals(reclaimer.queue, victim)
            for lump in lumps:
                if not self._may_take(reclaimer, ours, theirs):
                    return False
                self._take(victim, lump)
        return all(self._stays_fair(reclaimer, queue) for queue in reclaimer.queue.path)

    def _may_take(self, reclaimer: Reclaimer, ours: FairQueue, theirs: FairQueue) -> bool:
        held = self._held(theirs)
        if not within(held, theirs.allocatable):
            return True
        with_it = plus(self._books[ours.name].allocated, reclaimer.required.amount)
        return within(with_it, ours.terms.deserved) and not within(held, theirs.terms.deserved)

    def _take(self, victim: FairQueue, lump: EvictionUnit) -> None:
        lost, involved = lump.amount, lump.involved
        for queue in victim.path:
            held, name = self._held(queue), queue.name
            self.left[name] = (held[0] - lost[0], held[1] - lost[1], held[2] - lost[2])
            before = self._involved.get(name)
            if before is not involved:
                self._involved[name] = involved if before is None else before | involved

    def _held(self, queue: FairQueue) -> Amount:
        left = self.left.get(queue.name)
        return self._books[queue.name].allocated if left is None else left

    def _stays_fair(self, reclaimer: Reclaimer, queue: FairQueue) -> bool:
        """Whether no sibling that gave would be worse off than a queue that got too much."""
        required = reclaimer.required
        after = plus(self._held(queue), required.amount)
        for name, left in self.left.items():
            sibling = self._tree[name]
            if sibling is queue or sibling.parent is not queue.parent:
                continue
            for i in self._involved[name] | required.involved:
                if self._overtakes(after[i], queue.fair_share[i], left[i], sibling.fair_share[i]):
                    return False
        if reclaimer.preemptible:
            return True
        fixed = plus(self._books[queue.name].non_preemptible, required.amount)
        return within(fixed, queue.terms.deserved)

    def _overtakes(self, ours: int, our_share: int, theirs: int, their_share: int) -> bool:
        """Whether we would be above our share, and no less so than they are in theirs."""
        if ours <= our_share or their_share <= 0:
            return False
        return not our_share or ours * self._multiplier * their_share >= theirs * our_share


def rivals(left: FairQueue, right: FairQueue) -> tuple[FairQueue, FairQueue]:
    """The ancestors, or the queues themselves, just below where their ways part."""
    pair = (left, right)
    for pair in zip(reversed(left.path), reversed(right.path), strict=False):
        if pair[0] is not pair[1]:
            break
    return pair
