"""Which of two queues is served first, and what jobs would add to or take from them."""

from __future__ import annotations

from pumice import Job, Session
from pumice.solver import TaskBatches
from pumice_builtin_plugins.fairshare.amounts import NOTHING, Amount, Amounts, plus, within
from pumice_builtin_plugins.fairshare.queues import FairQueue

_WITHOUT_SHARE = (1000, 1000, 1)
"""What a unit counts that a queue has no share of: a thousand, a thousandth of a GPU one."""


class JobAmounts:
    """What jobs ask for next and what they hold, remembered until something happens to them.

    A part of a job has the uid of the whole, and what happens to it happens to that.
    """

    def __init__(self, session: Session, amounts: Amounts) -> None:
        self._amounts = amounts
        self._batches = TaskBatches(session.ask, session.order)
        self._evictions = session.decisions.evictions
        self._remembers = session.uses("queue_books")
        self._asked: dict[str, tuple[Job, int, Amount]] = {}
        self._held: dict[str, tuple[Job, Amount]] = {}

    def touch(self, job: Job) -> None:
        """A task of the job got or lost room."""
        self._asked.pop(job.uid, None)
        self._held.pop(job.uid, None)

    def next_request(self, job: Job | None) -> Amount:
        """What the tasks that would be placed next ask for; nothing of no job."""
        if job is None:
            return NOTHING
        # A task evicted on trial may be placed again, one evicted for good may not.
        evictions = len(self._evictions)
        known = self._asked.get(job.uid)
        if known is not None and known[0] is job and known[1] == evictions and self._remembers:
            return known[2]
        amount = self._amounts.total_request(self._batches.to_allocate(job, real=False))
        self._asked[job.uid] = (job, evictions, amount)
        return amount

    def held(self, job: Job) -> Amount:
        """What the tasks that have their place hold."""
        known = self._held.get(job.uid)
        if known is not None and known[0] is job and self._remembers:
            return known[1]
        amount = self._amounts.held_by(job)
        self._held[job.uid] = (job, amount)
        return amount


Rank = tuple[bool, bool, int, bool, float, float]
"""The rules in order: what is smaller in the first that differs goes first."""


class QueueOrder:
    """Compares queues; ranks are remembered until a queue holds, gives or loses something else."""

    def __init__(self, *, remembers: bool = True) -> None:
        self._remembers = remembers
        self._known: dict[FairQueue, tuple[int, Amount, Amount, Rank]] = {}
        """Ranks, each with the queue's changes, the job and the victims that it is true for."""

    def compare(
        self,
        left: FairQueue,
        right: FairQueue,
        left_job: Amount,
        right_job: Amount,
        left_victims: Amount = NOTHING,
        right_victims: Amount = NOTHING,
    ) -> int:
        """Negative: the left queue goes first. The first rule that tells them apart decides."""
        l_rank = self._rank(left, left_job, left_victims)
        r_rank = self._rank(right, right_job, right_victims)
        if l_rank != r_rank:
            return -1 if l_rank < r_rank else 1
        l_room, r_room = left.allocatable, right.allocatable
        if l_room != r_room:
            if within(l_room, r_room):
                return -1
            if within(r_room, l_room):
                return 1
        return -1 if left.created < right.created else 1

    def _rank(self, queue: FairQueue, job: Amount, victims: Amount) -> Rank:
        known = self._known.get(queue) if self._remembers else None
        if known is not None:
            changes, its_job, its_victims, rank = known
            if changes == queue.changes and its_job == job and its_victims == victims:
                return rank
        with_job = plus(queue.allocated, job)
        rank = (
            is_over_utilised(queue),
            not within(with_job, queue.terms.deserved),
            -queue.priority,
            _has_no_share(queue, with_job),
            dominant_share(queue, _minus(with_job, victims)),
            dominant_share(queue, queue.allocated),
        )
        self._known[queue] = (queue.changes, job, victims, rank)
        return rank


def is_over_utilised(queue: FairQueue) -> bool:
    """Whether the queue holds more than its fair share of every resource."""
    share, held = queue.fair_share, queue.allocated
    return share[0] < held[0] and share[1] < held[1] and share[2] < held[2]


def _has_no_share(queue: FairQueue, amount: Amount) -> bool:
    """Whether there is something of a resource of which the queue may have nothing."""
    room = queue.allocatable
    return (
        (amount[0] > 0 and not room[0])
        or (amount[1] > 0 and not room[1])
        or (amount[2] > 0 and not room[2])
    )


def dominant_share(queue: FairQueue, amount: Amount | list[int]) -> float:
    """The largest part, over the resources, of what the queue may have."""
    bounds, largest = queue.bounds, 0.0
    for i in (0, 1, 2):
        held, bound = amount[i], bounds[i]
        part = held / bound if bound else held * _WITHOUT_SHARE[i]
        if part > largest:
            largest = part
    return largest


def _minus(left: Amount, right: Amount) -> Amount:
    return left[0] - right[0], left[1] - right[1], left[2] - right[2]
