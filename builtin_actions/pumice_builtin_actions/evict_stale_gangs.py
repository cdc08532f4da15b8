"""Evict what is left of gangs that have been below their minimum for too long."""

from __future__ import annotations

from pydantic import Field

from pumice import Action, Duration, Job, Session, TaskStatus
from pumice.gang import active_tasks, used_count


class EvictStaleGangs(Action):
    """Evicts a gang that has been below its minimum for longer than a grace period.

    Non-preemptible gangs are evicted, too; a gang with a task that succeeded is not stale.
    """

    evicts = True
    reads_fit_errors = False

    class Options(Action.Options):
        grace: Duration = Field(
            60.0,
            alias="defaultStalenessGracePeriod",
            description="How long a gang may stay below its minimum; negative: for ever.",
        )

    def execute(self, session: Session) -> None:
        for job in session.jobs.values():
            with session.turn(job):
                self._check(session, job)

    def _check(self, session: Session, job: Job) -> None:
        if not _is_stale(job):
            job.stale_since = None
            return
        if job.stale_since is None:
            job.stale_since = session.now
        grace = self.options.grace
        if grace < 0 or session.now - job.stale_since < grace:
            return
        with session.statement() as statement:
            for task in active_tasks(job):
                if task.node in session.nodes.row_of:
                    statement.evict(task, f"gang {job.uid} is below its minimum")
            statement.commit()


def _is_stale(job: Job) -> bool:
    if job.count(TaskStatus.SUCCEEDED) or not used_count(job):
        return False
    return any(used_count(p) < p.min_available for p in job.sub_jobs.values())
