"""Gangs: minimums of a job, its roles and its sub-jobs, and how many of its tasks count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from pumice.model.job import Job, Members, SubJob
from pumice.model.task import (
    ACTIVE_STATUSES,
    READY_STATUSES,
    USED_STATUSES,
    VALID_STATUSES,
    Task,
    TaskStatus,
)

_PENDING, _PIPELINED = TaskStatus.PENDING, TaskStatus.PIPELINED


def _is_valid(task: Task) -> bool:
    return task.status in VALID_STATUSES


def is_ready_task(task: Task) -> bool:
    """Placed or done, or pending without asking for anything."""
    return task.status in READY_STATUSES or (task.status is _PENDING and task.best_effort)


def _is_pipelined(task: Task) -> bool:
    return is_ready_task(task) or task.status is _PIPELINED


def roles_valid(job: Job) -> bool:
    """Whether every role has enough tasks that could still run."""
    return not job.role_min or _roles_hold(job, _is_valid)


def roles_ready(job: Job) -> bool:
    """Whether every role has as many placed tasks as it needs."""
    return not job.role_min or _roles_hold(job, is_ready_task)


def roles_pipelined(job: Job) -> bool:
    """As :func:`roles_ready`, pipelined tasks included."""
    return _roles_hold(job, _is_pipelined)


def counts_roles(job: Job) -> bool:
    """Whether the minimums of roles bind: not when the job's own minimum is below their sum."""
    return bool(job.role_min) and job.min_available >= job.role_min_total


def _roles_hold(job: Job, counts: Callable[[Task], bool]) -> bool:
    if not counts_roles(job):
        return True
    counted = Counter(task.role for task in job.tasks.values() if counts(task))
    return all(counted[role] >= minimum for role, minimum in job.role_min.items())


def sub_jobs_valid(job: Job) -> bool:
    """Whether every group has as many sub-jobs as it needs."""
    if not job.min_sub_jobs:
        return True
    counted = Counter(sub_job.group_id for sub_job in job.sub_jobs.values())
    return all(counted[group] >= minimum for group, minimum in job.min_sub_jobs.items())


def sub_jobs_ready(job: Job) -> bool:
    """Whether every group has as many ready sub-jobs as it needs."""
    return not job.min_sub_jobs or _sub_jobs_hold(job, SubJob.is_ready)


def sub_jobs_pipelined(job: Job) -> bool:
    """As :func:`sub_jobs_ready`, pipelined tasks included."""
    return _sub_jobs_hold(job, SubJob.is_pipelined)


def _sub_jobs_hold(job: Job, holds: Callable[[SubJob], bool]) -> bool:
    if not job.min_sub_jobs:
        return True
    counted = Counter(s.group_id for s in job.sub_jobs.values() if holds(s))
    return all(counted[group] >= minimum for group, minimum in job.min_sub_jobs.items() if minimum)


def active_count(members: Members) -> int:
    """How many tasks hold their request on a node or are pipelined to one."""
    _, allocated, pipelined, binding, bound, running, _, _, _, _ = members.by_status
    return len(allocated) + len(pipelined) + len(binding) + len(bound) + len(running)


def used_count(members: Members) -> int:
    """As :func:`active_count`, releasing tasks included."""
    return members.count(*USED_STATUSES)


def active_tasks(members: Members) -> list[Task]:
    """The tasks that hold their request on a node or are pipelined to one."""
    return members.having(*ACTIVE_STATUSES)


def is_elastic(job: Job) -> bool:
    """Whether some pod set has more tasks than it needs."""
    return any(len(p.tasks) > p.min_available for p in job.sub_jobs.values())


def is_gang_satisfied(job: Job) -> bool:
    """Whether every pod set uses at least its minimum."""
    return all(used_count(p) >= p.min_available for p in job.sub_jobs.values())


def has_minimum(job: Job) -> bool:
    """Whether the job's tasks that are placed or done reach its minimums.

    Unlike :meth:`Members.is_ready` it does not count pending tasks that request nothing.
    """
    if job.ready_count < job.min_available or not sub_jobs_ready(job):
        return False
    if any(part.ready_count < part.min_available for part in job.sub_jobs.values()):
        return False
    return _roles_hold(job, lambda task: task.status in READY_STATUSES)


def is_ready_to_schedule(job: Job) -> bool:
    """Whether every pod set has enough tasks that could run."""
    for pod_set in job.sub_jobs.values():
        count = active_count(pod_set)
        for task in pod_set.by_status[_PENDING].values():
            count += not task.gated
        if count < pod_set.min_available:
            return False
    return True


def has_pending(job: Job) -> bool:
    """Whether a pending task is not held back by a gate."""
    for task in job.by_status[_PENDING].values():  # noqa: SIM110 - any() costs twice
        if not task.gated:
            return True
    return False
