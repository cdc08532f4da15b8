"""Place pending jobs on idle resources in the order of the queue tree, without evictions."""

from __future__ import annotations

from pumice import Action, Job, Session
from pumice.gang import has_pending
from pumice.solver import GangPlacer, QueueDepthOptions, QueueTree
from pumice_builtin_actions.solver_jobs import waiting_jobs


class FairAllocate(Action):
    """KAI's allocate: a job gets its minimum at once, then grows task by task.

    If one task of a gang's minimum must wait for a release, all its tasks are pipelined. A job that
    grew is put back into the order, so that elastic jobs of different queues grow alternately.
    """

    allocates = True
    needs_pending = True

    class Options(QueueDepthOptions):
        """See :class:`QueueDepthOptions`."""

    def execute(self, session: Session) -> None:
        placer = GangPlacer(session)
        waiting = waiting_jobs(session)
        for job in waiting:
            if job.is_pending:
                job.phase = "Inqueue"
        jobs = QueueTree(session, waiting, depth=self.options.queue_depth)
        while jobs:
            job = jobs.pop()
            more = False
            with session.turn(job):
                more = _grow(session, placer, job)
            if more:
                jobs.push(job)


def _grow(session: Session, placer: GangPlacer, job: Job) -> bool:
    """Place the job's next batch; whether it may want another."""
    was_running = job.allocated_count > 0
    with session.statement() as statement:
        if not placer.place(statement, job, None, simulate=False):
            return False
        waits = _must_wait(job)
        if waits and statement.pipeline_allocated(job) is not None:
            return False
        complete = statement.commit()
    if not waits and not was_running and job.allocated_count:
        job.last_start = session.now
    return complete and has_pending(job)


def _must_wait(job: Job) -> bool:
    """Whether a pod set reaches its minimum only with pipelined tasks."""
    return any(
        pod_set.waiting_count and pod_set.allocated_count < pod_set.min_available
        for pod_set in job.sub_jobs.values()
    )
