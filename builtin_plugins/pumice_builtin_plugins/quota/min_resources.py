"""Minimum resources of jobs: what is unmet, what exceeds them, and refusals of admission."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pumice import REJECT, Job, Refusal, Resource, Session, TaskStatus
from pumice.manifests import QUEUE_GATE

_PENDING = TaskStatus.PENDING
_MOST = 1 << 53
"""Below this every integer is exact as a float."""


def min_request(job: Job) -> Resource:
    """The job's minimum resources, empty where it declares none; not to be changed in place."""
    return Resource() if job.min_resources is None else job.min_resources


def deduct_gated(job: Job, resource: Resource) -> Resource:
    """A resource less the requests of pending tasks that a gate other than the queue's holds."""
    if not has_gated(job):
        return resource
    gated = Resource()
    for task in job.pending:
        if task.gated and task.pod.gates != (QUEUE_GATE,):
            gated.add(task.request)
    return resource if gated.is_empty() else resource.exceeded_part(gated)


def unmet_minimum(job: Job, allocated: Resource) -> Resource:
    """The part of the job's minimum resources that is not allocated."""
    return min_request(job).exceeded_part(allocated)


def runs_at_minimum(job: Job) -> bool:
    """Whether a job with minimum resources runs with at least minMember tasks allocated."""
    return (
        job.phase == "Running"
        and job.min_resources is not None
        and job.allocated_count >= job.group.min_member
    )


def is_admitted(job: Job) -> bool:
    """Whether a job with minimum resources has been let into its queue, and is not running."""
    return job.phase == "Inqueue" and job.min_resources is not None


def inqueue_of(job: Job, allocated: Resource) -> Resource:
    """What the job adds to its queue's inqueue: the unmet minimum of an admitted job."""
    if not is_admitted(job) and not runs_at_minimum(job):
        return Resource()
    return deduct_gated(job, unmet_minimum(job, allocated))


def elastic_of(job: Job, allocated: Resource) -> Resource:
    """What the job holds beyond its minimum resources; everything where it declares none."""
    return allocated.exceeded_part(min_request(job))


def allocated_of(session: Session, job: Job) -> Resource:
    """What the job's tasks hold."""
    return session.nodes.dimensions.resource(job.allocated)


def minimum_rows(session: Session) -> np.ndarray:
    """The minimum resources of all jobs, a row for each; for ``on_session_open``.

    A row is negative where the job declares none, or where integers of the cluster's resources
    cannot express it.
    """
    position, width = session.nodes.dimensions.position, len(session.nodes.dimensions)
    none = [-1] * width

    def row(job: Job) -> list[int]:
        minimum = job.min_resources
        if minimum is None:
            return none
        amounts = [0] * width
        for name, amount in minimum.items():
            column = position.get(name, -1)
            if column < 0 or not 0 <= amount < _MOST or amount != int(amount):
                return none
            amounts[column] = int(amount)
        return amounts

    return session.cluster.snapshot_cache.of_jobs("min_resources", row, width=width)


def allocated_rows(session: Session) -> np.ndarray:
    """What the tasks of each job hold; for ``on_session_open``."""
    width = len(session.nodes.dimensions)
    return session.cluster.snapshot_cache.of_jobs("allocated", _allocated, width=width)


def _allocated(job: Job) -> np.ndarray:
    return job.allocated


def gated_jobs(session: Session) -> list[bool]:
    """For each job :func:`has_gated`; for ``on_session_open``."""
    gated: list[bool] = session.cluster.snapshot_cache.of_jobs(
        "gated", has_gated, dtype=bool
    ).tolist()
    return gated


def has_gated(job: Job) -> bool:
    """Whether a gate holds one of the job's pending tasks."""
    for task in job.by_status[_PENDING].values():  # noqa: SIM110 - asked of all jobs: any() is slow
        if task.gated:
            return True
    return False


def refuse(job: Job, what: str, verb: str, resources: Iterable[str]) -> int:
    """Vote against admission because of these resources, and record the reason."""
    return refuse_for(job, f"{what}: {', '.join(f'{verb} {name}' for name in resources)}")


def refuse_for(job: Job, why: str) -> int:
    """Vote against admission and record the reason."""
    job.refusals.append(Refusal("NotEnqueueable", why))
    return REJECT
