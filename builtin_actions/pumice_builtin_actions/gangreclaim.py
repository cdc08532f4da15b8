"""Take back from other queues, for whole starving gangs, what their queue deserves."""

from __future__ import annotations

from pumice import Action
from pumice.model.job import Job
from pumice.model.task import Task
from pumice.session.session import Session
from pumice.verdicts import EvictionKind
from pumice_builtin_actions._bundles import Precedes
from pumice_builtin_actions._evicting import starving_jobs
from pumice_builtin_actions._gangs import GangEviction, GangOptions, Way, gives_way
from pumice_builtin_actions._victims import Accepts, of_other_queues


class Gangreclaim(Action):
    """Evict as few whole gangs of other queues as possible for the whole of a starving job.

    The surplus of jobs above their minimum goes first; then, queue by queue, the job that loses
    least for what it gives. The room is sought domain by domain, so that a network topology is
    kept.
    """

    evicts = True
    needs = ("job_starving", "unified_evictable")

    class Options(GangOptions):
        """As both gang actions have them."""

    def execute(self, session: Session) -> None:
        way = Way(
            kind=EvictionKind.GANG_RECLAIM,
            reason="gangreclaim",
            accepts=lambda job: _of_other_queues(session, job),
            precedes=lambda job: _of_queue_served_later(session, job),
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


def _of_other_queues(session: Session, claimant: Job) -> Accepts:
    reclaimable = of_other_queues(session, claimant)

    def accepts(task: Task) -> bool:
        return reclaimable(task) and task.job is not None and gives_way(task.job)

    return accepts


def _of_queue_served_later(session: Session, claimant: Job) -> Precedes:
    own = session.queue_of(claimant)

    def precedes(left: Job, right: Job) -> bool:
        if left.queue == right.queue:
            return False
        return session.order.victim_queue_before(
            session.queue_of(left), session.queue_of(right), own
        )

    return precedes
