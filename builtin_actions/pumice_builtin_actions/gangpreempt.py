"""Let starving gangs take room from jobs of lower priority inside their queue."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import PREEMPTABLE_STATUSES, Action, EvictionKind, Job, Session
from pumice_builtin_actions.gang.bundles import VictimOrder
from pumice_builtin_actions.gang.eviction import GangEviction, GangOptions, GangPolicy
from pumice_builtin_actions.greedy.eviction import starving_jobs
from pumice_builtin_actions.greedy.shortcut import VICTIMS


class Gangpreempt(Action):
    """Evict as few whole gangs as possible for the whole of a starving job of the same queue.

    The surplus of jobs above their minimum goes first; a job that would fall below its minimum is
    evicted as one. The room is sought domain by domain, so that a network topology is kept.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs = ("job_starving", "unified_evictable")

    class Options(GangOptions):
        """As both gang actions have them."""

    def execute(self, session: Session) -> None:
        way = GangPolicy(
            kind=EvictionKind.GANG_PREEMPT,
            reason="gangpreempt",
            statuses=PREEMPTABLE_STATUSES,
            gives=_is_lower_in_same_queue,
            turns=lambda job: _served_later(session),
            entitled=lambda job, tasks: True,
        )
        eviction = GangEviction(session, self.options, way)
        starving = starving_jobs(session)
        queues = session.order.queue_heap(session.queues[name] for name in starving)
        while queues:
            jobs = starving[queues.pop().name]
            while jobs:
                job = jobs.pop()
                with session.turn(job):
                    eviction.serve(job)


def _is_lower_in_same_queue(claimant: Job, job: Job) -> bool:
    return job.queue == claimant.queue and job.priority < claimant.priority


def _served_later(session: Session) -> VictimOrder:
    """Jobs in the reverse of the order in which they are served."""
    order = session.order

    def positions(jobs: Iterable[Job]) -> dict[str, int] | None:
        if not order.has_job_keys:
            return None
        ranked = sorted({job.uid: job for job in jobs}.values(), key=order.job_rank, reverse=True)
        return {job.uid: position for position, job in enumerate(ranked)}

    return VictimOrder(lambda left, right: not order.job_before(left, right), positions)
