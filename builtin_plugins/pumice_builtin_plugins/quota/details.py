"""The numbers behind what a queue may hold, for explanations."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import Job, Resource, VoteDetails
from pumice.kube import shown
from pumice_builtin_plugins.quota.min_resources import min_request
from pumice_builtin_plugins.quota.queue_accounts import QueueAccount
from pumice_builtin_plugins.quota.resource_columns import Request, ResourceColumns


def queue_not_open(name: str, state: str) -> VoteDetails:
    return VoteDetails(f"queue {name} is {state}", {"state": state}, "QueueNotOpen")


def bound_details(
    columns: ResourceColumns,
    queue: str,
    allocated: Sequence[float],
    request: Request,
    bound: Sequence[float],
    *,
    limit: bool,
) -> VoteDetails | None:
    """Which resource of a request exceeds the bound of a queue, and by how much; None: none does.

    ``limit``: the bound is what the queue may hold at most, else what it deserves.
    """
    for position, amount in request:
        missing = allocated[position] + amount - bound[position]
        if missing > 0:
            name = columns.names[position]
            what = "may hold at most" if limit else "deserves"
            text = (
                f"queue {queue} {what} {shown(name, bound[position])} {name}: "
                f"{shown(name, allocated[position])} in use, {shown(name, amount)} more asked for, "
                f"{shown(name, missing)} too much"
            )
            asked = [0.0] * len(columns.names)
            for column, wanted in request:
                asked[column] = wanted
            numbers = {
                "asked": _named(columns, asked),
                "used": _named(columns, allocated),
                "limit" if limit else "deserved": _named(columns, bound),
                "missing": f"{shown(name, missing)} {name}",
            }
            return VoteDetails(text, numbers, "OverLimit" if limit else "QueueShare")
    return None


def overused_details(
    columns: ResourceColumns, queue: str, allocated: Sequence[float], deserved: Sequence[float]
) -> VoteDetails:
    """What a queue holds against what it deserves."""
    held, share = _named(columns, allocated), _named(columns, deserved)
    text = f"queue {queue} deserves {share.describe()} and holds {held.describe()}"
    return VoteDetails(text, {"used": held, "deserved": share}, "QueueOverused")


def enqueue_details(job: Job, account: QueueAccount) -> VoteDetails | None:
    """Why the minimum of a job does not fit into its queue beside what is admitted already."""
    queue, minimum = account.queue, min_request(job)
    if not queue.is_open:
        return queue_not_open(queue.name, queue.state)
    short = account.insufficient(minimum)
    if not short:
        return None
    name = short[0]
    used, inqueue = account.allocated_resource, account.inqueue
    most = account.real_capability
    text = (
        f"queue {queue.name} may hold at most {shown(name, most.get(name))} {name}: "
        f"{shown(name, used.get(name))} in use, {shown(name, inqueue.get(name))} promised to jobs "
        f"that were admitted, {shown(name, minimum.get(name))} more asked for"
    )
    numbers = {"asked": minimum, "used": used, "inqueue": inqueue, "limit": most}
    return VoteDetails(text, numbers)


def _named(columns: ResourceColumns, amounts: Sequence[float]) -> Resource:
    return columns.resource(amounts)
