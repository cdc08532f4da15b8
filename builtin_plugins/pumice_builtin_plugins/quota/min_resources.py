"""Minimum resources of jobs: what is unmet, what exceeds them, and refusals of admission."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import REJECT, Job, Refusal, Resource, Session, TaskStatus
from pumice.manifests import QUEUE_GATE


def min_request(job: Job) -> Resource:
    """The job's minimum resources, empty where it declares none; not to be changed in place."""
    return Resource() if job.min_resources is None else job.min_resources


def deduct_gated(job: Job, resource: Resource) -> Resource:
    """A resource less the requests of pending tasks that a gate other than the queue's holds."""
    if not any(task.gated for task in job.by_status[TaskStatus.PENDING].values()):
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


def inqueue_of(job: Job, allocated: Resource) -> Resource:
    """What the job adds to its queue's inqueue: the unmet minimum of an admitted job."""
    admitted = job.phase == "Inqueue" and job.min_resources is not None
    if not admitted and not runs_at_minimum(job):
        return Resource()
    return deduct_gated(job, unmet_minimum(job, allocated))


def elastic_of(job: Job, allocated: Resource) -> Resource:
    """What the job holds beyond its minimum resources; everything where it declares none."""
    return allocated.exceeded_part(min_request(job))


def allocated_of(session: Session, job: Job) -> Resource:
    """What the job's tasks hold."""
    return session.nodes.dimensions.resource(job.allocated)


def refuse(job: Job, what: str, verb: str, resources: Iterable[str]) -> int:
    """Vote against admission because of these resources, and record the reason."""
    return refuse_for(job, f"{what}: {', '.join(f'{verb} {name}' for name in resources)}")


def refuse_for(job: Job, why: str) -> int:
    """Vote against admission and record the reason."""
    job.refusals.append(Refusal("NotEnqueueable", why))
    return REJECT
