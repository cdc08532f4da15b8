"""What a cycle found of tasks and jobs, noted so that what it did to them can be taken back.

Every attribute that describes a task or a job comes back, whoever wrote to it. The books come back
for the jobs that are named: those whose tasks changed status.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

from pumice.model.job import Job
from pumice.model.task import IS_ALLOCATED, Task

_of_task = attrgetter(
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
    "constraints",
    "compared",
    "gpu",
)
_of_job = attrgetter(
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
_of_sub_job = attrgetter(
    "min_available",
    "priority",
    "network_topology",
    "topology_constraint",
    "parent",
    "allocated_hyper_node",
    "nominated_hyper_node",
)


def note_task(task: Task) -> None:
    """Note what there is of a task before the cycle begins."""
    task.found = _of_task(task)


def note_job(job: Job) -> None:
    """Note what there is of a job and its sub-jobs before the cycle begins."""
    job.found = _of_job(job)
    for sub_job in job.sub_jobs.values():
        sub_job.found = _of_sub_job(sub_job)


def restore_tasks(tasks: Iterable[Task]) -> None:
    """Make tasks again what was noted of them."""
    for task in tasks:
        (
            task.status,
            task.node,
            task.gpu_groups,
            task.nominated_node,
            task.priority,
            task.preemptable,
            task.best_effort,
            task.gated,
            task.role,
            task.revocable_zone,
            task.created,
            task.request,
            task.vector,
            task.constraints,
            task.compared,
            task.gpu,
        ) = task.found
        task.eviction_occurred = task.virtual = False
        task.job_hyper_node = ""
        task.last_transaction = None
        task.class_id = -1
        if task.state:
            task.state = {}


def restore_jobs(jobs: Iterable[Job]) -> None:
    """Make jobs again what was noted of them, but for their books, and drop the cycle's notes."""
    for job in jobs:
        (
            job.queue,
            job.priority,
            job.min_available,
            job.min_resources,
            job.min_sub_jobs,
            job.role_min,
            job.role_min_total,
            job.created,
            job.last_start,
            job.stale_since,
            job.preemptable,
            job.preemptible,
            job.spared,
            job.revocable_zone,
            job.network_topology,
            job.allocated_hyper_node,
            job.sub_group_root,
        ) = job.found
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
        for sub_job in job.sub_jobs.values():
            (
                sub_job.min_available,
                sub_job.priority,
                sub_job.network_topology,
                sub_job.topology_constraint,
                sub_job.parent,
                sub_job.allocated_hyper_node,
                sub_job.nominated_hyper_node,
            ) = sub_job.found


def restore_books(jobs: Iterable[Job]) -> None:
    """Count the tasks of jobs anew, after the tasks themselves have been restored."""
    for job in jobs:
        job.sort_anew()
        for sub_job in job.sub_jobs.values():
            sub_job.sort_anew()
        job.allocated[:] = 0
        for task in job.tasks.values():
            if IS_ALLOCATED[task.status]:
                job.allocated += task.vector
