"""Gangpreempt: evict jobs of lower priority inside a queue for its starving gangs."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import PREEMPTABLE_STATUSES, EvictionKind, Job, Session
from pumice_builtin_actions.gang.bundles import VictimOrder
from pumice_builtin_actions.gang.eviction import GangAction, GangPolicy


class Gangpreempt(GangAction):
    """Evict as few gangs as possible for the whole of a starving job of the same queue.

    The surplus of jobs above their minimum goes first; a job that would fall below its minimum is
    evicted as one. Domains of nodes are tried one by one, so that the job's network topology is
    honoured.
    """

    def policy(self, session: Session) -> GangPolicy:
        return GangPolicy(
            kind=EvictionKind.GANG_PREEMPT,
            reason="gangpreempt",
            statuses=PREEMPTABLE_STATUSES,
            may_evict=_has_lower_priority_in_same_queue,
            victim_order=lambda preemptor: _reverse_job_order(session),
            is_entitled=lambda preemptor, tasks: True,
            skips_overused=False,
        )


def _has_lower_priority_in_same_queue(preemptor: Job, job: Job) -> bool:
    return job.queue == preemptor.queue and job.priority < preemptor.priority


def _reverse_job_order(session: Session) -> VictimOrder:
    """The job that would be served last loses its tasks first."""
    order = session.order

    def positions(jobs: Iterable[Job]) -> dict[str, int] | None:
        if not order.has_job_keys:
            return None
        ranked = sorted({job.uid: job for job in jobs}.values(), key=order.job_rank, reverse=True)
        return {job.uid: position for position, job in enumerate(ranked)}

    return VictimOrder(lambda left, right: not order.job_before(left, right), positions)
