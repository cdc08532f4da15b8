"""Gangs of victims: a gang gives what it has beyond its minimum, or goes as a whole."""

from __future__ import annotations

from collections.abc import Iterable

from pumice.model.gang import active_count, roles_pipelined, sub_jobs_pipelined
from pumice.model.job import Job
from pumice.model.task import PREEMPTABLE_STATUSES, Task, TaskStatus


def is_broken(job: Job) -> bool:
    """Whether some tasks of a gang hold a place, but fewer than its minimum."""
    if not active_count(job):
        return False
    if not (job.is_pipelined() and roles_pipelined(job) and sub_jobs_pipelined(job)):
        return True
    if job.sub_group_root is None:
        return False
    done = TaskStatus.SUCCEEDED
    return any(active_count(p) + p.count(done) < p.min_available for p in job.sub_jobs.values())


def rest_of(job: Job) -> list[Task] | None:
    """The tasks of a gang that still hold a place; None: one of them cannot be evicted now."""
    if job.by_status[TaskStatus.PIPELINED]:
        return None
    if job.by_status[TaskStatus.ALLOCATED] or job.by_status[TaskStatus.BINDING]:
        return None
    rest = job.having(*PREEMPTABLE_STATUSES)
    return rest if all(task.preemptable for task in rest) else None


def jobs_of(tasks: Iterable[Task]) -> list[Job]:
    """The jobs of these tasks, each once."""
    return list({id(t.job): t.job for t in tasks if t.job is not None}.values())
