"""What a job asks for against what nodes and queues could ever hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pumice.model.fitting import RequestFit
from pumice.model.quantity import PODS, shown
from pumice.model.task import Task, TaskStatus

if TYPE_CHECKING:
    from pumice.fit_errors import FitErrors
    from pumice.model.job import Job
    from pumice.session.session import Session

_PENDING = TaskStatus.PENDING
_MANY = 1 << 30
_MOST_TASKS, _SHORTAGES = "pumice.most_tasks", "pumice.shortages"
"""Names in ``session.state``: many jobs that wait ask for the same."""


def minimum_of(job: Job) -> list[Task]:
    """The tasks without a node that the job still needs for its minimum; at least one."""
    waiting = [*job.by_status[_PENDING].values(), *job.by_status[TaskStatus.PIPELINED].values()]
    if len(waiting) < 2:
        return waiting
    needed = max(1, job.min_available - job.ready_count)
    # Tasks with equal requests share one vector.
    vectors = {id(task.vector): task.vector for task in waiting}
    size_of = {key: int(vector.sum()) for key, vector in vectors.items()}
    return sorted(waiting, key=lambda task: size_of[id(task.vector)])[:needed]


def asked_by(job: Job) -> np.ndarray:
    """The sum of the requests of :func:`minimum_of`."""
    total = np.zeros_like(job.total_request)
    for task in minimum_of(job):
        total += task.vector
    return total


def beyond_limit(session: Session, job: Job) -> str:
    """By how much the job's minimum alone exceeds the limit of its queue or an ancestor."""
    name, position = job.queue, session.nodes.dimensions.position
    asked: np.ndarray | None = None
    seen: set[str] = set()
    while name and name in session.queues and name not in seen:
        seen.add(name)
        queue = session.queues[name]
        if queue.limit is not None:
            if asked is None:
                asked = asked_by(job)
            for resource, limit in queue.limit.items():
                column = position.get(resource)
                if column is None or resource == PODS or not is_bound(queue.family, limit):
                    continue
                if asked[column] > limit:
                    return (
                        f"asks for {shown(resource, asked[column])} {resource}, queue {name} may "
                        f"never hold more than {shown(resource, limit)}"
                    )
        name = queue.parent
    return ""


def is_bound(family: str, limit: float) -> bool:
    """Whether a limit is one: in Volcano 0 cpu or memory means that none is set, in KAI -1."""
    return limit > 0 or (family == "kai" and limit == 0)


def beyond_nodes(session: Session, job: Job) -> str:
    """Why the job's minimum would not fit the nodes if they were empty; empty: it would."""
    tasks = minimum_of(job)
    nodes = session.nodes
    if not tasks or not len(nodes) or any(task.gpu.any and task.gpu.shared for task in tasks):
        return ""
    largest = tasks[-1]
    most = _most_tasks(session, largest)
    if not most:
        return _larger_than_any(session, largest)
    if len(tasks) == 1:
        return ""
    if all(_is_same(task.vector, largest.vector) for task in tasks):
        if most < len(tasks):
            return (
                f"the gang needs {len(tasks)} tasks at once, all nodes together would hold {most} "
                "even if they were empty"
            )
        return ""
    total = nodes.allocatable.sum(axis=0)
    asked_sum = asked_by(job)
    for column, resource in enumerate(nodes.dimensions.names):
        if asked_sum[column] > total[column] and resource != PODS:
            return (
                f"the gang asks for {shown(resource, asked_sum[column])} {resource}, all nodes "
                f"together have {shown(resource, total[column])}"
            )
    return ""


def _is_same(left: np.ndarray, right: np.ndarray) -> bool:
    return left is right or left.tobytes() == right.tobytes()


def _most_tasks(session: Session, task: Task) -> int:
    """How many tasks like this one all nodes together would hold if they were empty."""
    known: dict[bytes, int] = session.state.setdefault(_MOST_TASKS, {})
    key = task.vector.tobytes()
    if key not in known:
        fit, allocatable = RequestFit(task.vector), session.nodes.allocatable
        asked = task.vector[fit.dimensions]
        positive = asked > 0
        room = allocatable[:, fit.dimensions][:, positive] // np.maximum(asked[positive], 1)
        held = room.min(axis=1) if positive.any() else np.full(len(allocatable), _MANY)
        known[key] = int(held[fit.mask(allocatable)].sum())
    return known[key]


def _larger_than_any(session: Session, task: Task) -> str:
    nodes = session.nodes
    most = nodes.allocatable.max(axis=0)
    for column, resource in enumerate(nodes.dimensions.names):
        if task.vector[column] > most[column]:
            has = shown(resource, most[column]) if most[column] > 0 else "none"
            return (
                f"{task.name} asks for {shown(resource, task.vector[column])} {resource}, the "
                f"largest node has {has}"
            )
    return f"{task.name} asks for {task.request.describe()}, and no single node has all of it"


def shortage(session: Session, task: Task, errors: FitErrors) -> str:
    """What a task asks for against the most that is free on a node, where that is too little."""
    known: dict[int, str] = session.state.setdefault(_SHORTAGES, {})
    number = session.queries.class_id(task)
    if number not in known:
        known[number] = _shortage(session, task, errors)
    return known[number]


def _shortage(session: Session, task: Task, errors: FitErrors) -> str:
    nodes = session.nodes
    rows = np.flatnonzero(~errors.unresolvable(len(nodes)))
    if not len(rows):
        return ""
    free = nodes.future_idle[rows]
    best = free[int(np.argmin(_missing(task, free)))]
    parts = [
        f"asks for {shown(name, task.vector[column])} {name}, the best node has "
        f"{shown(name, max(best[column], 0))} free"
        for column, name in enumerate(nodes.dimensions.names)
        if task.vector[column] > best[column]
    ]
    return f" ({'; '.join(parts)})" if parts else ""


def _missing(task: Task, free: np.ndarray) -> np.ndarray:
    """How much each node lacks, as a sum of parts of the request."""
    asked = np.maximum(task.vector, 1)
    lacking: np.ndarray = (np.maximum(task.vector - free, 0) / asked).sum(axis=1)
    return lacking
