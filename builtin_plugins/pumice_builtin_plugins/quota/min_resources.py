"""Minimum resources of jobs: what is still to be placed of them, what exceeds them, refusals."""

from __future__ import annotations

from collections.abc import Iterable

from pumice import REJECT, Job, Refusal, Resource, Session
from pumice.manifests import QUEUE_GATE


def min_request(job: Job) -> Resource:
    """The job's declared minimum; not to be changed."""
    return Resource() if job.min_resources is None else job.min_resources


def deduct_gated(job: Job, resource: Resource) -> Resource:
    """A resource less what the job's pending tasks ask for that wait for somebody else's gate."""
    gated = Resource()
    for task in job.pending:
        if task.gated and task.pod.gates != (QUEUE_GATE,):
            gated.add(task.request)
    return resource if gated.is_empty() else resource.exceeded_part(gated)


def unmet_minimum(session: Session, job: Job) -> Resource:
    """What is missing of the declared minimum."""
    return min_request(job).exceeded_part(allocated_of(session, job))


def runs_at_minimum(job: Job) -> bool:
    """Whether a job with a declared minimum runs and has as many tasks placed as it needs."""
    return (
        job.phase == "Running"
        and job.min_resources is not None
        and job.allocated_count >= job.group.min_member
    )


def inqueue_of(session: Session, job: Job) -> Resource:
    """What an admitted job is still promised of its minimum."""
    admitted = job.phase == "Inqueue" and job.min_resources is not None
    if not admitted and not runs_at_minimum(job):
        return Resource()
    return deduct_gated(job, unmet_minimum(session, job))


def elastic_of(session: Session, job: Job) -> Resource:
    """What the job holds beyond its minimum; without a minimum that is everything."""
    return allocated_of(session, job).exceeded_part(min_request(job))


def allocated_of(session: Session, job: Job) -> Resource:
    return session.nodes.dimensions.resource(job.allocated)


def refuse(job: Job, what: str, verb: str, resources: Iterable[str]) -> int:
    """Vote against a job and note why, for the reason that it is given."""
    return refuse_for(job, f"{what}: {', '.join(f'{verb} {name}' for name in resources)}")


def refuse_for(job: Job, why: str) -> int:
    """Vote against a job for a reason that stands by itself."""
    job.refusals.append(Refusal("NotEnqueueable", why))
    return REJECT
