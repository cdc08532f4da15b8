"""The jobs that wait while an action evicts, sorted once as long as none of them changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pumice.model.cursors import JobCursor
from pumice.model.job import Job
from pumice.session.heap import LiveHeap

if TYPE_CHECKING:
    from pumice.session.order_keys import JobRanks


class ClaimantHeap:
    """Gives what a :class:`LiveHeap` of the jobs would give, with fewer comparisons.

    A job that waits here may lose tasks, which changes its rank. Until that happens, the heap gives
    the jobs in the order of their ranks. Then the heap is made as it would be now: by the same
    pushes and pops, compared by the ranks of that time.
    """

    __slots__ = (
        "_changes",
        "_first",
        "_heap",
        "_pushed",
        "_rank_of",
        "_ranks",
        "_sorted",
        "_taken",
    )

    def __init__(self, ranks: JobRanks, journal: list[Job], jobs: Iterable[Job] = ()) -> None:
        self._ranks = ranks
        self._changes = JobCursor(journal)
        self._pushed: list[Job] = []
        """Every job, in the order in which they came."""
        self._rank_of: dict[str, Any] = {}
        """Their ranks at that time."""
        self._first: Job | None = None
        """The first one, until jobs are sorted."""
        self._sorted: list[Job] | None = None
        """What is left, the first one at the end; None: none was taken yet."""
        self._taken: set[str] = set()
        self._heap: LiveHeap[Job] | None = None
        """What is left, after a job inside has changed."""
        for job in jobs:
            self.push(job)

    def __len__(self) -> int:
        if self._heap is not None:
            return len(self._heap)
        return len(self._pushed) - len(self._taken)

    def __iter__(self) -> Iterator[Job]:
        """The jobs in no particular order."""
        if self._heap is not None:
            return iter(self._heap)
        return iter(self._pushed if self._sorted is None else self._sorted)

    def push(self, job: Job, rank: Any = None) -> None:
        """Add a job."""
        heap = self._current()
        if heap is None and self._sorted is not None:
            heap = self._make_heap()
        if heap is not None:
            heap.push(job)
            return
        if rank is None:
            rank = self._ranks.of(job)
        self._rank_of[job.uid] = rank
        self._pushed.append(job)
        if self._first is None or rank < self._rank_of[self._first.uid]:
            self._first = job

    def pop(self) -> Job:
        """Remove the first job and return it."""
        heap = self._current()
        if heap is not None:
            return heap.pop()
        if self._sorted is None:
            rank_of = self._rank_of
            self._sorted = sorted(self._pushed, key=lambda job: rank_of[job.uid], reverse=True)
        job = self._sorted.pop()
        self._taken.add(job.uid)
        return job

    @property
    def top(self) -> Job:
        """The first job."""
        first = self.peek()
        if first is None:
            raise IndexError("the heap is empty")
        return first

    def peek(self) -> Job | None:
        """The first job; None: the heap is empty."""
        # Changes are looked for when a job comes or goes: until then a heap compares nothing.
        if self._heap is not None:
            return self._heap.peek()
        if self._sorted is None:
            return self._first
        return self._sorted[-1] if self._sorted else None

    def _current(self) -> LiveHeap[Job] | None:
        """The heap, if a job inside has changed; None: they are in the order of their ranks."""
        if self._heap is None:
            rank_of, taken = self._rank_of, self._taken
            for job in self._changes.changed():
                known = rank_of.get(job.uid)
                if known is None or job.uid in taken:
                    continue
                if known != self._ranks.of(job):
                    return self._make_heap()
        return self._heap

    def _make_heap(self) -> LiveHeap[Job]:
        rank_of = self._rank_of
        heap = LiveHeap[Job](lambda left, right: rank_of[left.uid] < rank_of[right.uid])
        for job in self._pushed:
            heap.push(job)
        for _ in self._taken:
            heap.pop()
        heap._before = self._ranks.before
        self._heap = heap
        return heap
