"""Gangreclaim: take back from other queues, for starving gangs, what their queue deserves."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import EvictionKind, Job, Session, TaskStatus
from pumice_builtin_actions.gang.bundles import VictimOrder, total_order
from pumice_builtin_actions.gang.eviction import GangAction, GangPolicy


class Gangreclaim(GangAction):
    """Evict as few gangs of other queues as possible for the whole of a starving job.

    The surplus of jobs above their minimum goes first; then, queue by queue, the job that loses
    least for what it frees. Domains of nodes are tried one by one, so that the job's network
    topology is honoured.
    """

    def policy(self, session: Session) -> GangPolicy:
        return GangPolicy(
            kind=EvictionKind.GANG_RECLAIM,
            reason="gangreclaim",
            statuses=(TaskStatus.RUNNING,),
            may_evict=lambda reclaimer, job: _is_reclaimable(session, reclaimer, job),
            victim_order=lambda reclaimer: _victim_queue_order(session, reclaimer),
            is_entitled=lambda job, tasks: session.ask.preemptive(session.queue_of(job), tasks),
            skips_overused=True,
        )


def _is_reclaimable(session: Session, reclaimer: Job, job: Job) -> bool:
    return job.queue != reclaimer.queue and session.queues[job.queue].reclaimable


def _victim_queue_order(session: Session, reclaimer: Job) -> VictimOrder:
    """Jobs by the victim order of their queues; within a queue all are equal."""
    own = session.queue_of(reclaimer)

    def precedes(left: Job, right: Job) -> bool:
        if left.queue == right.queue:
            return False
        return session.order.victim_queue_before(
            session.queue_of(left), session.queue_of(right), own
        )

    def positions(jobs: Iterable[Job]) -> dict[str, int] | None:
        jobs = list(jobs)
        one_per_queue = {job.queue: job for job in jobs}
        if not session.uses("order_keys") or len(one_per_queue) ** 2 > len(jobs):
            return None
        ordered = total_order(list(one_per_queue.values()), precedes)
        if ordered is None:
            return None
        position_of = {job.queue: position for position, job in enumerate(ordered)}
        return {job.uid: position_of[job.queue] for job in jobs}

    return VictimOrder(precedes, positions)
