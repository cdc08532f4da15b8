"""Enqueue: admit pending jobs into their queues if the plugins vote for it."""

from __future__ import annotations

from pumice import Action, Job, JobHeap, Session


class Enqueue(Action):
    """Admit pending jobs one at a time; the queue order is evaluated again after each job.

    A job without minResources is admitted without a vote. One that is rejected stays pending for
    this cycle; the jobs behind it are still considered.
    """

    admits = True
    needs_pending = True
    reads_fit_errors = False

    def execute(self, session: Session) -> None:
        waiting: dict[str, JobHeap] = {}
        for job in session.jobs.values():
            if job.queue not in waiting:
                waiting[job.queue] = session.order.job_heap()
            if job.is_pending:
                waiting[job.queue].push(job)
        queues = session.order.queue_heap(session.queues[name] for name in waiting)
        while queues:
            # While no job is admitted the order of the queues stays, and the first comes again.
            jobs = waiting[queues.top.name]
            admitted = False
            while jobs and not admitted:
                job = jobs.pop()
                with session.turn(job):
                    admitted = _admitted(session, job)
                    if admitted:
                        session.ask.job_enqueued(job)
                        job.phase = "Inqueue"
            queue = queues.pop()
            if jobs:
                queues.push(queue)


def _admitted(session: Session, job: Job) -> bool:
    # Volcano admits a job without minResources even into a closed queue.
    return job.min_resources is None or session.ask.job_enqueueable(job)
