"""Dominant resource fairness: who holds the smallest part of the cluster goes first."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from pydantic import Field

from pumice import Job, Plugin, Queue, Task, hookimpl
from pumice_builtin_plugins.drf.hierarchy import FairTree
from pumice_builtin_plugins.drf.job_shares import JobShare, dominant_share, existing
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS

_TOLERANCE = 1e-6


class Drf(Plugin):
    """Order jobs by dominant share; with ``hierarchy``, queues by their place in a tree.

    The tree comes from the queues' annotations ``volcano.sh/hierarchy`` (``root/eng/dev``) and
    ``volcano.sh/hierarchy-weights`` (``1/2/4``).
    """

    shortcuts = (QUEUE_BOOKS,)

    class Options(Plugin.Options):
        hierarchy: bool = Field(
            False, description="Order and reclaim queues by the tree that their annotations name."
        )

    @classmethod
    def caution(cls, options: Any, companions: Collection[str]) -> str | None:
        if options.hierarchy and "proportion" in companions:
            return "with hierarchy, drf and proportion order the queues of one tier in two ways"
        return None

    @hookimpl
    def on_session_open(self) -> None:
        total = self.session.cluster.total.tolist()
        self._total = existing(total)
        remembers = self.session.uses("queue_books")
        self._shares = {
            job.uid: JobShare(job, self._total, remembers=remembers)
            for job in self.session.jobs.values()
        }
        self._tree = (
            FairTree(self.session.queues, self._shares, total, remembers=remembers)
            if self.options.hierarchy
            else None
        )

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.uid].add(task)
            if self._tree is not None:
                self._tree.changed(task.job, task.vector.tolist(), 1)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.uid].take(task)
            if self._tree is not None:
                self._tree.changed(task.job, task.vector.tolist(), -1)

    # -- jobs

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        l_share, r_share = self._shares[left.uid].share, self._shares[right.uid].share
        return (l_share > r_share) - (l_share < r_share)

    @hookimpl
    def job_order_key(self, job: Job) -> float:
        return self._shares[job.uid].share

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those whose job keeps at least the share that the preemptor's job would then have.

        Candidates that are spared are taken off their jobs' shares all the same.
        """
        if preemptor.job is None:
            return []
        claim = _sum(self._shares[preemptor.job.uid].held, preemptor, 1)
        wanted = dominant_share(claim, self._total)
        left: dict[str, list[int]] = {}
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            uid = task.job.uid
            left[uid] = held = _sum(left.get(uid) or self._shares[uid].held, task, -1)
            if wanted - dominant_share(held, self._total) <= _TOLERANCE:
                victims.append(task)
        return victims

    # -- the tree of queues

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int | None:
        if self._tree is None:
            return None
        difference = self._tree.compare(left, right)
        return (difference > 0) - (difference < 0)

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Those without which the reclaimer's queue, with its task, would still go first."""
        if self._tree is None:
            return None
        if reclaimer.job is None:
            return []
        queues = self.session.queues
        claiming = queues[reclaimer.job.queue]
        self.on_allocate(reclaimer)
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            self.on_deallocate(task)
            if self._tree.compare(claiming, queues[task.job.queue]) < 0:
                victims.append(task)
            self.on_allocate(task)
        self.on_deallocate(reclaimer)
        return victims


def _sum(held: Sequence[int], task: Task, sign: int) -> list[int]:
    return [a + sign * b for a, b in zip(held, task.vector.tolist(), strict=True)]
