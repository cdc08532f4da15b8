"""Share the cluster among queues by weight, within what each asks for and may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pumice import PERMIT, Job, Plugin, Queue, Resource, Task, hookimpl
from pumice.kube import PODS
from pumice_builtin_plugins.proportion.water_fill import water_fill
from pumice_builtin_plugins.quota.min_resources import deduct_gated, min_request, refuse, refuse_for
from pumice_builtin_plugins.quota.queue_books import (
    Columns,
    QueueShare,
    add_to,
    exceeds,
    fits,
    gather,
    real_capability,
    take_from,
    total_guarantee,
)
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class Proportion(Plugin):
    """Queues deserve a part of the cluster by weight: it orders, bounds and reclaims them.

    Only queues that have a job take part. What a queue does not ask for goes to the others.
    """

    shortcuts = (QUEUE_BOOKS,)

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._columns = Columns(session)
        busy = {job.queue for job in session.jobs.values()}
        self._shares = gather(
            session, self._columns, [q for q in session.queues.values() if q.name in busy]
        )
        total = session.nodes.dimensions.resource(session.cluster.total)
        unreserved = total.exceeded_part(total_guarantee(session.queues.values()))
        for share in self._shares.values():
            share.real_capability = real_capability(unreserved, share)
        self._set_deserved(total)

    def _set_deserved(self, total: Resource) -> None:
        shares, columns = list(self._shares.values()), self._columns
        if not shares:
            return
        deserved = water_fill(
            np.array(columns.amounts(total)),
            [share.queue.weight for share in shares],
            requests=np.array([share.request for share in shares], float),
            bounds=np.array([columns.amounts(s.real_capability, np.inf) for s in shares]),
            floors=np.array([columns.amounts(share.guarantee) for share in shares], float),
            pods=columns.position[PODS],
        )
        for share, row in zip(shares, deserved.tolist(), strict=True):
            share.deserved, share.ceiling = columns.resource(row), row

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.queue].add(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        if task.job is not None:
            self._shares[task.job.queue].take(task)

    # -- queues

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        l_share, r_share = self._part(left), self._part(right)
        return (l_share > r_share) - (l_share < r_share)

    def _part(self, queue: Queue) -> float:
        share = self._shares.get(queue.name)
        return 0.0 if share is None else share.share

    @hookimpl
    def overused(self, queue: Queue) -> bool | None:
        share = self._shares.get(queue.name)
        return None if share is None else not exceeds(share.ceiling, share.allocated)

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool | None:
        share = self._shares.get(queue.name)
        if share is None:
            return None
        return queue.state == "Open" and fits(
            share.allocated, self._columns.asked(task), share.ceiling
        )

    @hookimpl
    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool | None:
        share = self._shares.get(queue.name)
        if share is None:
            return None
        return queue.state == "Open" and fits(
            share.allocated, self._columns.asked_together(tasks), share.ceiling
        )

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        share = self._shares.get(queue.name)
        return None if share is None else share.held

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        share = self._shares.get(queue.name)
        return None if share is None else share.deserved

    # -- victims

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Those whose queue has more than it deserves, after the ones before them have gone."""
        left: dict[str, list[int]] = {}
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            share = self._shares[task.job.queue]
            held = left.setdefault(task.job.queue, list(share.allocated))
            if exceeds(held, share.ceiling):
                take_from(held, task)
                victims.append(task)
        return victims

    # -- admission

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        share = self._shares[job.queue]
        if share.queue.state != "Open":
            return refuse_for(job, f"queue {job.queue} is {share.queue.state}")
        short = share.short_of(min_request(job))
        if short:
            return refuse(job, "queue resource quota insufficient", "insufficient", short)
        return PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        self._shares[job.queue].inqueue.add(deduct_gated(job, min_request(job)))

    # -- simulation

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> None:
        if added.job is not None:
            add_to(self._simulated(cycle_state, self._shares[added.job.queue]), added)

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> None:
        if removed.job is not None:
            take_from(self._simulated(cycle_state, self._shares[removed.job.queue]), removed)

    def _simulated(self, cycle_state: dict[str, Any], share: QueueShare) -> list[int]:
        """What the queue holds in this attempt; copied when the attempt first changes it."""
        held: dict[str, list[int]] = cycle_state.setdefault(self.name, {})
        return held.setdefault(share.queue.name, list(share.allocated))

    @hookimpl
    def simulate_allocatable(
        self, cycle_state: dict[str, Any], queue: Queue, task: Task
    ) -> bool | None:
        share = self._shares.get(queue.name)
        if share is None:
            return None
        held = cycle_state.get(self.name, {}).get(queue.name, share.allocated)
        return fits(held, self._columns.asked(task), share.ceiling)
