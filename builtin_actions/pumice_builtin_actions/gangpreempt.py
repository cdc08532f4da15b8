"""Let starving gangs take room from jobs of lower priority inside their queue."""

from __future__ import annotations

from pumice import Action
from pumice.model.job import Job
from pumice.model.task import PREEMPTABLE_STATUSES, Task
from pumice.session.session import Session
from pumice.verdicts import EvictionKind
from pumice_builtin_actions._bundles import Precedes
from pumice_builtin_actions._evicting import starving_jobs
from pumice_builtin_actions._gangs import GangEviction, GangOptions, Way, gives_way
from pumice_builtin_actions._victims import Accepts


class Gangpreempt(Action):
    """Evict as few whole gangs as possible for the whole of a starving job of the same queue.

    The surplus of jobs above their minimum goes first; a job that would fall below its minimum is
    evicted as one. The room is sought domain by domain, so that a network topology is kept.
    """

    evicts = True
    needs = ("job_starving", "unified_evictable")

    class Options(GangOptions):
        """As both gang actions have them."""

    def execute(self, session: Session) -> None:
        way = Way(
            kind=EvictionKind.GANG_PREEMPT,
            reason="gangpreempt",
            accepts=_lower_of_same_queue,
            precedes=lambda job: _served_later(session),
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


def _lower_of_same_queue(claimant: Job) -> Accepts:
    def accepts(task: Task) -> bool:
        job = task.job
        return (
            job is not None
            and job is not claimant
            and job.queue == claimant.queue
            and job.priority < claimant.priority
            and task.preemptable
            and task.status in PREEMPTABLE_STATUSES
            and gives_way(job)
        )

    return accepts


def _served_later(session: Session) -> Precedes:
    return lambda left, right: not session.order.job_before(left, right)
