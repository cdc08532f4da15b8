"""Let pending jobs into their queues, as far as the plugins' votes go."""

from __future__ import annotations

from pumice import Action, Job, JobHeap, Session


class Enqueue(Action):
    """Admit pending jobs, one at a time, the queues asked for their order again after each.

    A job that declares no minimum resources is let in without a vote. One that is refused stays
    pending for this cycle; the jobs behind it still get their chance.
    """

    admits = True

    def execute(self, session: Session) -> None:
        waiting: dict[str, JobHeap] = {}
        for job in session.jobs.values():
            pending = waiting.setdefault(job.queue, session.order.job_heap())
            if job.is_pending:
                pending.push(job)
        queues = session.order.queue_heap(session.queues[name] for name in waiting)
        while queues:
            queue = queues.pop()
            jobs = waiting[queue.name]
            if not jobs:
                continue
            job = jobs.pop()
            with session.turn(job):
                if _admitted(session, job):
                    session.ask.job_enqueued(job)
                    job.phase = "Inqueue"
            queues.push(queue)


def _admitted(session: Session, job: Job) -> bool:
    return job.min_resources is None or session.ask.job_enqueueable(job)
