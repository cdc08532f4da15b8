"""Which of two queues is served first, with what their jobs would add and their victims free."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import Job, JobCursor, Session, TaskStatus
from pumice.solver import TaskBatches
from pumice_builtin_plugins.fairshare.quantities import (
    NOTHING,
    Quantities,
    TaskQuantities,
    add_up,
    minus,
    plus,
    within,
)
from pumice_builtin_plugins.fairshare.queues import FairQueue

_PENDING = TaskStatus.PENDING
_OF_NOTHING = 1000
"""KAI: what allocated counts times, where nothing is allocatable; GPUs are milli here already."""


class JobQuantities:
    """What jobs request next and hold, cached until a task of theirs changes its status.

    A part of a job has the uid of the whole job, and its changes are reported for that.
    """

    def __init__(self, session: Session, quantities: TaskQuantities) -> None:
        self._quantities = quantities
        self._batches = TaskBatches(session.ask, session.order)
        self._evictions = session.decisions.evictions
        self._cached = session.uses("queue_books")
        self._journal = session.cluster.job_journal
        self._changes = JobCursor(self._journal)
        self._seen = len(self._journal)
        """The length of the journal up to which changes are known (compared on a hot path)."""
        self._requests: dict[str, tuple[Job, int, Quantities]] = {}
        self._allocated: dict[str, dict[int, tuple[Job, Quantities]]] = {}
        """By uid, then by identity: parts of one job are compared with each other."""
        self._totals: dict[tuple[int, ...], tuple[tuple[Job, ...], Quantities]] = {}
        """By the identity of jobs, which are alive as long as they are in the value."""
        self._same_totals: dict[int, tuple[tuple[Job, ...], Quantities]] = {}
        """The same by the identity of the tuple of jobs."""

    def next_request(self, job: Job | None) -> Quantities:
        """What the tasks that would be placed next request; nothing for None."""
        if job is None:
            return NOTHING
        if len(job.tasks) == 1:
            (task,) = job.tasks.values()
            if task.status is _PENDING:
                return NOTHING if task.gated else self._quantities.request(task)
        if len(self._journal) != self._seen:
            self._forget_changed()
        # A task evicted in a simulation may be placed again, one evicted for good may not.
        evictions = len(self._evictions)
        known = self._requests.get(job.uid)
        if known is not None and known[0] is job and known[1] == evictions and self._cached:
            return known[2]
        request = self._quantities.total_request(self._batches.to_allocate(job, real=False))
        self._requests[job.uid] = (job, evictions, request)
        return request

    def total_allocated(self, jobs: Sequence[Job]) -> Quantities:
        """What the allocated tasks of these jobs hold."""
        if len(self._journal) != self._seen:
            self._forget_changed()
        if not self._cached:
            return add_up(map(self.allocated, jobs))
        same = self._same_totals.get(id(jobs))
        if same is not None and same[0] is jobs:
            return same[1]
        key = tuple(map(id, jobs))
        known = self._totals.get(key)
        if known is None:
            # A tree of victims asks about the jobs that it took before and one more.
            before = self._totals.get(key[:-1])
            if before is None:
                total = add_up(map(self.allocated, jobs))
            else:
                total = plus(before[1], self.allocated(jobs[-1]))
            known = self._totals[key] = (tuple(jobs), total)
        if isinstance(jobs, tuple):  # nobody changes it, and a tree asks about it again
            self._same_totals[id(jobs)] = (jobs, known[1])
        return known[1]

    def allocated(self, job: Job) -> Quantities:
        """What the job's allocated tasks hold."""
        if len(self._journal) != self._seen:
            self._forget_changed()
        of_uid = self._allocated.setdefault(job.uid, {})
        known = of_uid.get(id(job))
        if known is not None and self._cached:
            return known[1]
        allocated = self._quantities.allocated(job)
        of_uid[id(job)] = (job, allocated)
        return allocated

    def _forget_changed(self) -> None:
        changed = self._changes.changed()
        self._seen = len(self._journal)
        if changed:
            self._totals.clear()
            self._same_totals.clear()
        for job in changed:
            self._requests.pop(job.uid, None)
            self._allocated.pop(job.uid, None)


Rank = tuple[bool, bool, int, bool, float, float]
"""The criteria in their order of precedence; the smaller rank goes first."""


class QueueOrder:
    """Compares queues; ranks are cached until a queue's allocated changes."""

    def __init__(self, *, cached: bool = True) -> None:
        self._cached = cached
        self._ranks: dict[FairQueue, tuple[int, Quantities, Quantities, Rank]] = {}
        """Per queue: its version, the job's request and the victims that the rank is for."""

    def compare(
        self,
        left: FairQueue,
        right: FairQueue,
        left_job: Quantities,
        right_job: Quantities,
        left_victims: Quantities = NOTHING,
        right_victims: Quantities = NOTHING,
    ) -> int:
        """Negative: the left queue goes first. The first criterion that differs decides."""
        l_rank = self.rank(left, left_job, left_victims)
        r_rank = self.rank(right, right_job, right_victims)
        if l_rank != r_rank:
            return -1 if l_rank < r_rank else 1
        l_allocatable, r_allocatable = left.allocatable, right.allocatable
        if l_allocatable != r_allocatable:
            if within(l_allocatable, r_allocatable):
                return -1
            if within(r_allocatable, l_allocatable):
                return 1
        return -1 if left.created < right.created else 1

    def rank(self, queue: FairQueue, job: Quantities, victims: Quantities = NOTHING) -> Rank:
        """The criteria that are compared first."""
        known = self._ranks.get(queue) if self._cached else None
        if known is not None:
            version, known_job, known_victims, rank = known
            if version == queue.version and known_job == job and known_victims == victims:
                return rank
        with_job = plus(queue.allocated, job)
        without_victims = with_job if victims is NOTHING else minus(with_job, victims)
        rank = (
            is_over_utilized(queue),
            not within(with_job, queue.quota.deserved),
            -queue.priority,
            _needs_unallocatable(queue, with_job),
            utilization(queue, without_victims),
            utilization(queue, queue.allocated),
        )
        self._ranks[queue] = (queue.version, job, victims, rank)
        return rank


def is_over_utilized(queue: FairQueue) -> bool:
    """Whether the queue holds more than its fair share; in KAI, of all three resources."""
    fair_share, allocated = queue.fair_share, queue.allocated
    return (
        fair_share[0] < allocated[0]
        and fair_share[1] < allocated[1]
        and fair_share[2] < allocated[2]
    )


def _needs_unallocatable(queue: FairQueue, quantities: Quantities) -> bool:
    """Whether some resource is used of which nothing is allocatable to the queue."""
    allocatable = queue.allocatable
    return (
        (quantities[0] > 0 and not allocatable[0])
        or (quantities[1] > 0 and not allocatable[1])
        or (quantities[2] > 0 and not allocatable[2])
    )


def utilization(queue: FairQueue, quantities: Quantities | list[int]) -> float:
    """KAI's dominant share of a queue: the largest part of what is allocatable to it.

    Unlike the common dominant share, a resource of which nothing is allocatable counts, too.
    """
    cpu, memory, gpus = quantities
    cpu_bound, memory_bound, gpu_bound = queue.finite_allocatable
    # Written out: every queue is ranked again after every placement.
    part = cpu / cpu_bound if cpu_bound else cpu * _OF_NOTHING
    largest = part if part > 0 else 0.0
    part = memory / memory_bound if memory_bound else memory * _OF_NOTHING
    if part > largest:
        largest = part
    part = gpus / gpu_bound if gpu_bound else gpus
    return part if part > largest else largest
