"""Which of the jobs that wait in an action may still succeed."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING

from pumice.model.job import Job
from pumice.solver.kinds import Kinds

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.solver.queue_tree import QueueTree

_SHORT_RUN = 8
"""Shorter runs of jobs that must fail are not worth looking for."""


class Prospects:
    """Gives the jobs of a queue tree in its order, and knows which of them are bound to fail.

    Those that are like jobs that have failed change nothing. So the next ones of a queue are given
    at once where no other queue comes between, and all that are left in any order.
    """

    def __init__(self, session: Session, tree: QueueTree, *, gives_lost: bool = True) -> None:
        """``gives_lost``: jobs that are bound to fail are given, too, to be told why they wait."""
        self._tree = tree
        self._gives_lost = gives_lost
        self._kind_of = Kinds.of_session(session).of
        self._kinds: dict[str, Hashable] = {}
        """By uid of a job, as far as they were needed."""
        self._left: dict[Hashable, int] = {}
        """By kind: how many jobs are left."""
        self._open = 0
        """How many jobs are left of which none like them has failed."""
        self._counted = False
        """Whether they have been counted; that is done when the first job fails."""
        self._lost: set[Hashable] = set()
        self._lost_for_now: list[Job] = []
        self._singly: dict[str, int] = {}
        """By queue: so many jobs are taken one by one before a run is looked for again."""
        self._journal = session.cluster.job_journal
        self._seen = len(self._journal)

    def __iter__(self) -> Iterator[Job]:
        tree, queue = self._tree, ""
        while tree:
            if self._seen != len(self._journal):
                self._reopen()
            if self._counted and not self._open:
                jobs = list(tree) if self._gives_lost else []
                tree.clear()
                yield from jobs
                continue
            jobs = self._pop_run(queue)
            if not jobs:
                jobs = [tree.pop()]
                queue = jobs[0].queue
            for job in jobs:
                self._take(job)
                if self._gives_lost or self._kinds.get(job.uid) not in self._lost:
                    yield job

    def _pop_run(self, queue: str) -> list[Job]:
        """The next jobs of the queue from which the last one came, as far as they must fail."""
        lost, kinds = self._lost, self._kinds
        first = self._tree.first_of(queue) if lost else None
        if first is None or kinds[first.uid] not in lost:
            return []
        singly = self._singly.get(queue, 0)
        if singly:
            self._singly[queue] = singly - 1
            return []
        run = self._tree.pop_run(queue, lambda job: kinds[job.uid] in lost, self.kind)
        if len(run) < _SHORT_RUN:
            self._singly[queue] = _SHORT_RUN
        return run

    def kind(self, job: Job) -> Hashable:
        """What the job has in common with those like it; its uid, if there are none.

        Without keys every job has a kind of its own.
        """
        kind = self._kinds.get(job.uid)
        if kind is None:
            kind = self._kind_of(job) if self._tree.by_keys else job.uid
            self._kinds[job.uid] = kind
        return kind

    def _count(self) -> None:
        """Count the jobs that are left, by kind."""
        kind = self.kind
        for job in self._tree:
            of_kind = kind(job)
            self._left[of_kind] = self._left.get(of_kind, 0) + 1
        self._open, self._counted = sum(self._left.values()), True

    def _take(self, job: Job) -> None:
        if not self._counted:
            return
        kind = self._kinds[job.uid]
        self._left[kind] -= 1
        if kind not in self._lost:
            self._open -= 1

    def put_back(self, job: Job) -> None:
        """The job wants another turn; it is like no other now."""
        self._kinds[job.uid] = job.uid
        if self._counted:
            self._left[job.uid] = 1
            self._open += 1
        self._tree.push(job)

    def lose(self, job: Job, *, for_now: bool = False) -> None:
        """Jobs like this one fail; ``for_now``: as long as no task changes its status."""
        kind = self.kind(job)
        if kind in self._lost:
            return
        if not self._counted:
            self._count()
        if for_now:
            if self._seen != len(self._journal):
                self._reopen()
            self._lost_for_now.append(job)
        self._lost.add(kind)
        self._open -= self._left.get(kind, 0)

    def _reopen(self) -> None:
        """What failed for now may succeed after a change."""
        self._seen = len(self._journal)
        for job in self._lost_for_now:
            kind = self._kinds[job.uid]
            self._lost.discard(kind)
            self._open += self._left.get(kind, 0)
        self._lost_for_now.clear()
