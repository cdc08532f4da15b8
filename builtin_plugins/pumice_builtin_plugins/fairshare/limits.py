"""Limits of queues, and the quotas that jobs which cannot be preempted must keep to."""

from __future__ import annotations

from typing import Any

from pumice import Job, Refusal
from pumice.kube import shown
from pumice_builtin_plugins.fairshare.amounts import NAMES, NOTHING, Amount, Bound
from pumice_builtin_plugins.fairshare.queues import FairQueue

OVER_LIMIT = "OverLimit"
OVER_QUOTA = "NonPreemptibleOverQuota"
NOT_OPEN = "QueueNotOpen"


def refusal(leaf: FairQueue, job: Job, requested: Amount) -> Refusal | None:
    """Why the queue, or one above it, cannot hold so much more; None: it can."""
    if leaf.queue.state != "Open":
        return Refusal(NOT_OPEN, f"queue {leaf.name} is {leaf.queue.state}", {"queue": leaf.name})
    return over_limit(leaf, job, requested) or over_quota(leaf, job, requested)


def over_limit(leaf: FairQueue, job: Job, requested: Amount) -> Refusal | None:
    for queue in leaf.limited:
        i = _exceeding(queue.allocated, requested, queue.terms.limit)
        if i is not None:
            message = _tell(queue, i, "a limit", queue.terms.limit, queue.allocated, requested)
            return Refusal(OVER_LIMIT, message, _details(queue, job, requested))
    return None


def over_quota(leaf: FairQueue, job: Job, requested: Amount) -> Refusal | None:
    """Only jobs that cannot be preempted must stay within the quota."""
    if job.preemptible:
        return None
    for queue in leaf.path:
        i = _exceeding(queue.non_preemptible, requested, queue.terms.deserved)
        if i is not None:
            quota, held = queue.terms.deserved, queue.non_preemptible
            message = _tell(queue, i, "a quota", quota, held, requested)
            message += "; a job that cannot be preempted must stay within the quota"
            return Refusal(OVER_QUOTA, message, _details(queue, job, requested))
    return None


def _exceeding(held: list[int], requested: Amount, bound: Bound) -> int | None:
    """The position of the first resource that is asked for beyond the bound."""
    for i in (0, 1, 2):
        if requested[i] > 0 and bound[i] < held[i] + requested[i]:
            return i
    return None


def _tell(
    queue: FairQueue, i: int, what: str, bound: Bound, held: list[int], requested: Amount
) -> str:
    name = NAMES[i]
    return (
        f"queue {queue.queue.display_name or queue.name} has {what} of "
        f"{shown(name, bound[i])} {name}: {shown(name, held[i])} in use, "
        f"{shown(name, requested[i])} more asked for"
    )


def _details(queue: FairQueue, job: Job, requested: Amount) -> dict[str, Any]:
    return {
        "queue": queue.name,
        "requested": named(requested),
        "deserved": named(queue.terms.deserved),
        "allocated": named(queue.allocated),
        "allocated_non_preemptible": named(queue.non_preemptible),
        "limit": named(queue.terms.limit),
        "requested_non_preemptible": named(NOTHING if job.preemptible else requested),
    }


def named(amount: Bound | list[int]) -> dict[str, float]:
    return dict(zip(NAMES, amount, strict=True))
