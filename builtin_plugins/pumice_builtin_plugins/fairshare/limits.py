"""Limits of queues, and the quotas that non-preemptible jobs must stay within."""

from __future__ import annotations

from typing import Any

from pumice import Job, Refusal, VoteDetails
from pumice.kube import shown
from pumice_builtin_plugins.fairshare.quantities import NAMES, NOTHING, Bounds, Quantities, by_name
from pumice_builtin_plugins.fairshare.queues import FairQueue

OVER_LIMIT = "OverLimit"
OVER_QUOTA = "NonPreemptibleOverQuota"
NOT_OPEN = "QueueNotOpen"


def refusal(leaf: FairQueue, job: Job, requested: Quantities) -> Refusal | None:
    """Why the queue or an ancestor cannot hold the request; None: it can."""
    if not leaf.queue.is_open:
        return Refusal(NOT_OPEN, f"queue {leaf.name} is {leaf.queue.state}", {"queue": leaf.name})
    if job.preemptible and not leaf.limited_path:  # hot: every task that is placed
        return None
    return over_limit(leaf, job, requested) or over_quota(leaf, job, requested)


def over_limit(leaf: FairQueue, job: Job, requested: Quantities) -> Refusal | None:
    for queue in leaf.limited_path:
        limit = queue.quota.limit
        i = _first_exceeded(queue.allocated, requested, limit)
        if i is not None:
            message = _message(queue, i, "a limit", limit, queue.allocated, requested)
            return Refusal(OVER_LIMIT, message, _details(queue, job, requested))
    return None


def exceeded(leaf: FairQueue, job: Job, added: Quantities) -> str | None:
    """What a queue or an ancestor holds beyond its limit since something was added.

    If the job cannot be preempted, also what such jobs hold beyond a quota.
    """
    for queue in leaf.limited_path:
        i = _first_exceeded(queue.allocated, added, queue.quota.limit, counted=True)
        if i is not None:
            return f"queue {queue.name} would hold more {NAMES[i]} than its limit"
    for queue in () if job.preemptible else leaf.path:
        i = _first_exceeded(queue.non_preemptible, added, queue.quota.deserved, counted=True)
        if i is not None:
            held = f"jobs that cannot be preempted would hold more {NAMES[i]}"
            return f"{held} than the quota of queue {queue.name}"
    return None


def over_quota(leaf: FairQueue, job: Job, requested: Quantities) -> Refusal | None:
    """Only non-preemptible jobs must stay within the quota."""
    if job.preemptible:
        return None
    for queue in leaf.path:
        deserved, allocated = queue.quota.deserved, queue.non_preemptible
        i = _first_exceeded(allocated, requested, deserved)
        if i is not None:
            message = _message(queue, i, "a quota", deserved, allocated, requested)
            message += "; a job that cannot be preempted must stay within the quota"
            return Refusal(OVER_QUOTA, message, _details(queue, job, requested))
    return None


def entitlement(queue: FairQueue, required: Quantities, preemptible: bool) -> VoteDetails | None:
    """Why a queue is not entitled to take what a job requests from others; None: it is."""
    held, what = queue.allocated, "a fair share"
    bound: Bounds = queue.fair_share
    i = _first_exceeded(held, required, bound)
    if i is None and not preemptible:
        held, bound, what = queue.non_preemptible, queue.quota.deserved, "a quota"
        i = _first_exceeded(held, required, bound)
    if i is None:
        return None
    numbers = {"asked": by_name(required), "used": by_name(held), "share": by_name(bound)}
    return VoteDetails(_message(queue, i, what, bound, held, required), numbers, "NotEntitled")


def _first_exceeded(
    allocated: list[int], requested: Quantities, bounds: Bounds, *, counted: bool = False
) -> int | None:
    """The position of the first requested resource that would exceed its bound.

    ``counted``: allocated has the request already.
    """
    for i in (0, 1, 2):
        if requested[i] > 0 and bounds[i] < allocated[i] + (0 if counted else requested[i]):
            return i
    return None


def _message(
    queue: FairQueue,
    i: int,
    what: str,
    bounds: Bounds,
    allocated: list[int],
    requested: Quantities,
) -> str:
    name = NAMES[i]
    return (
        f"queue {queue.queue.display_name or queue.name} has {what} of "
        f"{shown(name, bounds[i])} {name}: {shown(name, allocated[i])} in use, "
        f"{shown(name, requested[i])} more asked for"
    )


def _details(queue: FairQueue, job: Job, requested: Quantities) -> dict[str, Any]:
    return {
        "queue": queue.name,
        "requested": by_name(requested),
        "deserved": by_name(queue.quota.deserved),
        "allocated": by_name(queue.allocated),
        "allocated_non_preemptible": by_name(queue.non_preemptible),
        "limit": by_name(queue.quota.limit),
        "requested_non_preemptible": by_name(NOTHING if job.preemptible else requested),
    }
