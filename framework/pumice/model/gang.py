"""Minimums inside a job: by role of its tasks and by group of its sub-jobs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from pumice.model.job import Job, SubJob
from pumice.model.task import ALLOCATED_STATUSES, Task, TaskStatus

_S = TaskStatus
_PLACED = ALLOCATED_STATUSES | {_S.SUCCEEDED}


def _is_valid(task: Task) -> bool:
    return task.status in _PLACED or task.status in (_S.PIPELINED, _S.PENDING)


def is_ready_task(task: Task) -> bool:
    """Placed or done, or pending without asking for anything."""
    return task.status in _PLACED or (task.status is _S.PENDING and task.best_effort)


def _is_pipelined(task: Task) -> bool:
    return is_ready_task(task) or task.status is _S.PIPELINED


def roles_valid(job: Job) -> bool:
    """Whether every role has enough tasks that could still run."""
    return _roles_hold(job, _is_valid)


def roles_ready(job: Job) -> bool:
    """Whether every role has as many placed tasks as it needs."""
    return _roles_hold(job, is_ready_task)


def roles_pipelined(job: Job) -> bool:
    """As :func:`roles_ready`, pipelined tasks included."""
    return _roles_hold(job, _is_pipelined)


def counts_roles(job: Job) -> bool:
    """Whether the minimums of roles bind: not when the job's own minimum is below their sum."""
    return bool(job.role_min) and job.min_available >= job.role_min_total


def _roles_hold(job: Job, counts: Callable[[Task], bool]) -> bool:
    if not counts_roles(job):
        return True
    found = Counter(task.role for task in job.tasks.values() if counts(task))
    return all(found[role] >= minimum for role, minimum in job.role_min.items())


def sub_jobs_valid(job: Job) -> bool:
    """Whether every group has as many sub-jobs as it needs."""
    if not job.min_sub_jobs:
        return True
    found = Counter(sub_job.group_id for sub_job in job.sub_jobs.values())
    return all(found[group] >= minimum for group, minimum in job.min_sub_jobs.items())


def sub_jobs_ready(job: Job) -> bool:
    """Whether every group has as many ready sub-jobs as it needs."""
    return _sub_jobs_hold(job, SubJob.is_ready)


def sub_jobs_pipelined(job: Job) -> bool:
    """As :func:`sub_jobs_ready`, pipelined tasks included."""
    return _sub_jobs_hold(job, SubJob.is_pipelined)


def _sub_jobs_hold(job: Job, holds: Callable[[SubJob], bool]) -> bool:
    if not job.min_sub_jobs:
        return True
    found = Counter(s.group_id for s in job.sub_jobs.values() if holds(s))
    return all(found[group] >= minimum for group, minimum in job.min_sub_jobs.items() if minimum)
