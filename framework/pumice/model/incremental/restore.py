"""The state of tasks and jobs when a cycle began, recorded so that the next can start from it.

Every attribute that describes a task or a job is restored, whatever wrote to it. Counts are
restored for the given jobs: those whose tasks changed status.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import attrgetter
from typing import Any

from pumice.model.job import Job
from pumice.model.task import IS_ALLOCATED, Task


class _Attributes:
    """Attributes that are recorded in ``initial`` of an object and restored from there."""

    def __init__(self, *names: str) -> None:
        self.values = attrgetter(*names)
        # Restored for every object of every cycle: one assignment of all attributes is fastest.
        targets = ", ".join(f"each.{name}" for name in names)
        scope: dict[str, Any] = {}
        exec(f"def restore(objects):\n for each in objects: {targets} = each.initial", scope)
        self.restore: Callable[[Iterable[Any]], None] = scope["restore"]


_TASK = _Attributes(
    "status",
    "node",
    "gpu_groups",
    "nominated_node",
    "priority",
    "preemptable",
    "best_effort",
    "gated",
    "role",
    "revocable_zone",
    "created",
    "request",
    "vector",
    "compared",
    "gpu",
)
_JOB = _Attributes(
    "queue",
    "priority",
    "min_available",
    "min_resources",
    "min_sub_jobs",
    "role_min",
    "role_min_total",
    "created",
    "last_start",
    "stale_since",
    "preemptable",
    "preemptible",
    "spared",
    "revocable_zone",
    "network_topology",
    "allocated_hyper_node",
    "sub_group_root",
)
_SUB_JOB = _Attributes(
    "min_available",
    "priority",
    "network_topology",
    "topology_constraint",
    "parent",
    "allocated_hyper_node",
    "nominated_hyper_node",
)


def record_tasks(tasks: Iterable[Task]) -> None:
    """Record the state of tasks before the cycle begins."""
    values = _TASK.values
    for task in tasks:
        task.initial = values(task)


def record_job(job: Job) -> None:
    """Record the state of a job and its sub-jobs before the cycle begins."""
    job.initial = _JOB.values(job)
    for sub_job in job.sub_jobs.values():
        sub_job.initial = _SUB_JOB.values(sub_job)


def restore_tasks(tasks: Collection[Task]) -> None:
    """Restore the recorded state of tasks."""
    _TASK.restore(tasks)
    for task in tasks:
        task.eviction_occurred = task.virtual = False
        task.job_hyper_node = ""
        task.last_transaction = None
        task.class_id = -1
        if task.state:
            task.state = {}


def restore_jobs(jobs: Collection[Job]) -> None:
    """Restore the recorded state of jobs except their counts, and drop what the cycle added."""
    _JOB.restore(jobs)
    _SUB_JOB.restore([sub_job for job in jobs for sub_job in job.sub_jobs.values()])
    for job in jobs:
        job.phase = job.group.phase
        if job.fit_errors:
            job.fit_errors = {}
        if job.plugin_errors:
            job.plugin_errors = []
        if job.conditions:
            job.conditions = []
        if job.refusals:
            job.refusals = []
        if job.state:
            job.state = {}
        job.reason = ""


def restore_counts(jobs: Iterable[Job]) -> None:
    """Count the tasks of jobs again, after the tasks themselves have been restored."""
    for job in jobs:
        job.sort_by_status()
        for sub_job in job.sub_jobs.values():
            sub_job.sort_by_status()
        job.allocated[:] = 0
        for task in job.tasks.values():
            if IS_ALLOCATED[task.status]:
                job.allocated += task.vector
