"""The tree of queues at the end of a cycle: what each deserves, holds and asks for."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.explain.capacity import is_bound
from pumice.model.resources import MIN_RESOURCE, Resource
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.model.facts import Queue
    from pumice.model.job import Job
    from pumice.session.session import Session

_PENDING, _PIPELINED = TaskStatus.PENDING, TaskStatus.PIPELINED
Amounts = Mapping[str, float]


@dataclass(slots=True)
class QueueRow:
    """One queue with the sums over its jobs and those of the queues below it."""

    queue: str
    parent: str
    depth: int
    state: str
    weight: int
    allocated: np.ndarray
    """What tasks hold or are promised, by dimension."""
    request: np.ndarray
    """``allocated`` and what pending tasks ask for, by dimension."""
    deserved: Amounts = field(default_factory=dict)
    """What a plugin says that the queue deserves, else what the queue states."""
    fair_share: Amounts = field(default_factory=dict)
    limit: Amounts = field(default_factory=dict)
    share: float | None = None
    """The largest part of a deserved resource that is allocated; None: nothing is deserved."""
    share_of: str = ""
    """The resource of which that is."""
    jobs: int = 0
    waiting: int = 0


def queue_rows(session: Session) -> list[QueueRow]:
    """All queues, each after its parent, those of one parent by name."""
    width = len(session.nodes.dimensions)
    rows = {
        queue.name: _row(session, queue, depth, width) for queue, depth in _in_order(session.queues)
    }
    for job in session.jobs.values():
        row = rows.get(job.queue)
        if row is not None:
            _count(row, job)
    # A queue comes after its parent, so from the end on every row is complete when it is added.
    for row in reversed(rows.values()):
        above = rows.get(row.parent) if row.depth else None
        if above is not None:
            above.allocated += row.allocated
            above.request += row.request
            above.jobs += row.jobs
            above.waiting += row.waiting
    for row in rows.values():
        row.share, row.share_of = _share(row, session.nodes.dimensions.position)
    return list(rows.values())


def _in_order(queues: Mapping[str, Queue]) -> Iterator[tuple[Queue, int]]:
    """Queues with their depth; one whose ancestors form a circle is at the top."""
    below: dict[str, list[str]] = {}
    for name, queue in sorted(queues.items()):
        parent = queue.parent if queue.parent in queues and queue.parent != name else ""
        below.setdefault(parent, []).append(name)
    seen: set[str] = set()
    for start in (*below.get("", ()), *sorted(queues)):
        stack = [(start, 0)]
        while stack:
            name, depth = stack.pop()
            if name not in seen:
                seen.add(name)
                yield queues[name], depth
                stack += [(child, depth + 1) for child in reversed(below.get(name, []))]


def _row(session: Session, queue: Queue, depth: int, width: int) -> QueueRow:
    ask = session.ask
    deserved = _asked(ask.get_queue_deserved_resources, queue) or queue.deserved
    fair = _asked(ask.get_queue_fair_share, queue)
    return QueueRow(
        queue.name,
        queue.parent,
        depth,
        queue.state,
        queue.weight,
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        deserved=_finite(deserved),
        fair_share=_finite(fair),
        limit={
            name: amount
            for name, amount in _finite(queue.limit).items()
            if is_bound(queue.family, amount)
        },
    )


def _asked(point: Callable[[Queue], Any], queue: Queue) -> Resource | None:
    try:
        answer = point(queue)
    except Exception:  # a plugin that cannot answer now must not cost the page
        return None
    return answer if isinstance(answer, Resource) else None


def _finite(resource: Resource | None) -> dict[str, float]:
    """The amounts that are bounds; negative and infinite ones mean that there is none."""
    items = () if resource is None else resource.items()
    return {name: amount for name, amount in items if math.isfinite(amount) and amount >= 0}


def _count(row: QueueRow, job: Job) -> None:
    row.jobs += 1
    row.waiting += bool(job.reason)
    held = job.allocated
    pending, pipelined = job.by_status[_PENDING], job.by_status[_PIPELINED]
    if pipelined:
        held = held + sum(task.vector for task in pipelined.values())
    row.allocated += held
    row.request += held
    if len(pending) == len(job.tasks):
        row.request += job.total_request
    else:
        for task in pending.values():
            row.request += task.vector


def _share(row: QueueRow, position: Mapping[str, int]) -> tuple[float | None, str]:
    parts = [
        (float(row.allocated[position[name]] / amount), name)
        for name, amount in row.deserved.items()
        if name in position and amount >= MIN_RESOURCE
    ]
    return max(parts, key=itemgetter(0), default=(None, ""))
