"""Take back from other queues, for whole starving gangs, what their queue deserves."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import Action, EvictionKind, Job, Session, TaskStatus
from pumice_builtin_actions.gang.bundles import VictimOrder, in_turn
from pumice_builtin_actions.gang.eviction import GangEviction, GangOptions, GangPolicy
from pumice_builtin_actions.greedy.eviction import starving_jobs
from pumice_builtin_actions.greedy.shortcut import VICTIMS


class Gangreclaim(Action):
    """Evict as few whole gangs of other queues as possible for the whole of a starving job.

    The surplus of jobs above their minimum goes first; then, queue by queue, the job that loses
    least for what it gives. The room is sought domain by domain, so that a network topology is
    kept.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs = ("job_starving", "unified_evictable")

    class Options(GangOptions):
        """As both gang actions have them."""

    def execute(self, session: Session) -> None:
        way = GangPolicy(
            kind=EvictionKind.GANG_RECLAIM,
            reason="gangreclaim",
            statuses=(TaskStatus.RUNNING,),
            gives=lambda claimant, job: _is_of_other_queue(session, claimant, job),
            turns=lambda job: _of_queue_served_later(session, job),
            entitled=lambda job, tasks: session.ask.preemptive(session.queue_of(job), tasks),
        )
        eviction = GangEviction(session, self.options, way)
        starving = starving_jobs(session)
        queues = session.order.queue_heap(session.queues[name] for name in starving)
        while queues:
            queue = queues.pop()
            jobs = starving[queue.name]
            asked = overused = False
            while jobs and not overused:
                job = jobs.pop()
                with session.turn(job):
                    overused = not asked and session.ask.overused(queue)
                    asked = True
                    if not overused:
                        eviction.serve(job)


def _is_of_other_queue(session: Session, claimant: Job, job: Job) -> bool:
    return job.queue != claimant.queue and session.queues[job.queue].reclaimable


def _of_queue_served_later(session: Session, claimant: Job) -> VictimOrder:
    """Jobs of the queue that is to lose first; within a queue all are alike."""
    own = session.queue_of(claimant)

    def precedes(left: Job, right: Job) -> bool:
        if left.queue == right.queue:
            return False
        return session.order.victim_queue_before(
            session.queue_of(left), session.queue_of(right), own
        )

    def positions(jobs: Iterable[Job]) -> dict[str, int] | None:
        jobs = list(jobs)
        of_queue = {job.queue: job for job in jobs}
        if not session.uses("order_keys") or len(of_queue) ** 2 > len(jobs):
            return None
        turns = in_turn(list(of_queue.values()), precedes)
        if turns is None:
            return None
        turn_of = {job.queue: turn for turn, job in enumerate(turns)}
        return {job.uid: turn_of[job.queue] for job in jobs}

    return VictimOrder(precedes, positions)
