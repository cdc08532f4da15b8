"""Dominant resource fairness: the job or queue with the smallest dominant share goes first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pydantic import Field

from pumice import Job, Plugin, PluginEntry, Policy, Queue, Task, VoteDetails, hookimpl
from pumice_builtin_plugins.drf.hierarchy import HierarchicalShares
from pumice_builtin_plugins.drf.job_shares import JobShare
from pumice_builtin_plugins.quota.dominant_share import dominant_share, totals_of
from pumice_builtin_plugins.quota.min_resources import allocated_rows
from pumice_builtin_plugins.quota.resource_columns import add_request, subtract_request
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
    def cautions(cls, entry: PluginEntry, policy: Policy) -> Iterator[str]:
        voters = next((tier for tier in policy.voters("queue_order") if entry in tier), ())
        others = [other.name for other in voters if other is not entry]
        if entry.options.hierarchy and others:
            yield (
                f"with hierarchy, {entry.name} and {', '.join(others)} order the queues of one "
                "tier in two ways"
            )

    @hookimpl
    def on_session_open(self) -> None:
        total = self.session.cluster.total.tolist()
        self._totals = totals_of(enumerate(total))
        cached = self.session.uses("queue_books")
        held = allocated_rows(self.session).tolist()
        self._shares = {
            job.uid: JobShare(job, self._totals, allocated, cached=cached)
            for job, allocated in zip(self.session.jobs.values(), held, strict=True)
        }
        self._tree = (
            HierarchicalShares(self.session.queues, self._shares, total, cached=cached)
            if self.options.hierarchy
            else None
        )

    # -- order

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int | None:
        if self._tree is None:
            return None
        difference = self._tree.compare(left, right)
        return (difference > 0) - (difference < 0)

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        l_share, r_share = self._shares[left.uid].share, self._shares[right.uid].share
        return (l_share > r_share) - (l_share < r_share)

    @hookimpl
    def job_order_key(self, job: Job) -> float:
        return self._shares[job.uid].share

    # -- victims

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        """Tasks whose job would keep at least the share that the preemptor's job would get."""
        if preemptor.job is None:
            return []
        allocated = list(self._shares[preemptor.job.uid].allocated)
        add_request(allocated, preemptor)
        preemptor_share = dominant_share(allocated, self._totals)
        remaining: dict[str, list[int]] = {}
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            uid = task.job.uid
            if uid not in remaining:
                remaining[uid] = list(self._shares[uid].allocated)
            allocated = remaining[uid]
            # Volcano subtracts every candidate, also one that is then not selected.
            subtract_request(allocated, task)
            if preemptor_share - dominant_share(allocated, self._totals) <= _TOLERANCE:
                victims.append(task)
        return victims

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Tasks without which the reclaimer's queue, with the reclaimer, would still go first."""
        if self._tree is None:
            return None
        if reclaimer.job is None:
            return []
        queues = self.session.queues
        reclaimer_queue = queues[reclaimer.job.queue]
        self.on_allocate(reclaimer)
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            # As in Volcano each candidate is tried alone, not after the victims before it.
            self.on_deallocate(task)
            if self._tree.compare(reclaimer_queue, queues[task.job.queue]) < 0:
                victims.append(task)
            self.on_allocate(task)
        self.on_deallocate(reclaimer)
        return victims

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point != "preemptable":
            return None
        preemptor, victim = args[0], args[1][0]
        if preemptor.job is None or victim.job is None:
            return None
        own = list(self._shares[preemptor.job.uid].allocated)
        add_request(own, preemptor)
        other = list(self._shares[victim.job.uid].allocated)
        subtract_request(other, victim)
        with_it = dominant_share(own, self._totals)
        without = dominant_share(other, self._totals)
        text = (
            f"job {preemptor.job.uid} would have a share of {with_it:.3f}, job {victim.job.uid} "
            f"only {without:.3f}"
        )
        return VoteDetails(text, {"share": round(with_it, 3), "of the victim": round(without, 3)})

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.uid].allocate(task)
            if self._tree is not None:
                self._tree.update(task.job, task.vector.tolist(), 1)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.uid].deallocate(task)
            if self._tree is not None:
                self._tree.update(task.job, task.vector.tolist(), -1)
