"""Whether a node really takes a task: room, filters and queue limits, as they are now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pumice.model.fitting import RequestFit
from pumice.model.task import Task
from pumice.session.nodes.gpu_devices import choose_groups, fits_rows

if TYPE_CHECKING:
    from pumice.session.session import Session


def objection_to(session: Session, task: Task, row: int) -> str | None:
    """Why a task cannot be placed on a node's future idle; None: it can."""
    limit = queue_objection(session, task)
    if limit is not None:
        return limit
    error = session.queries.prepare(task) or session.queries.predicate(task, row)
    if error is not None:
        return str(error)
    if not fits(session, task, row, idle=False):
        return f"too little is free on node {session.nodes.names[row]}"
    return _capacity_objection(session, task, row)


def queue_objection(session: Session, task: Task) -> str | None:
    """Why the task's queue may not be allocated what the task requests; None: it may."""
    job = task.job
    assert job is not None
    if not session.ask.allocatable(session.queues[job.queue], task):
        return f"queue {job.queue} may not be allocated more of what the task requests"
    refusal = session.ask.is_job_over_queue_capacity(job, [task])
    return None if refusal is None else refusal.message


def _capacity_objection(session: Session, task: Task, row: int) -> str | None:
    assert task.job is not None
    refusal = session.ask.is_task_allocation_on_node_over_capacity(
        task, task.job, session.nodes.view(), row
    )
    return None if refusal is None else refusal.message


def fits(session: Session, task: Task, row: int, *, idle: bool) -> bool:
    """Whether the request fits into a node's idle or future idle resources."""
    if task.best_effort:
        return True
    nodes = session.nodes
    if task.gpu.shared:
        return bool(fits_rows(session, task, np.array([row]), idle=idle)[0])
    free = nodes.future_idle[row].tolist()
    fit = RequestFit(task.vector, task.compared)
    return fit.fits(free) and (not idle or fit.fits(nodes.idle[row].tolist()))


def groups_on(session: Session, task: Task, row: int) -> tuple[str, ...] | None:
    """The GPU groups that a task would join on a node; None: it shares no GPU."""
    return choose_groups(session, task, row) if task.gpu.shared else None


def best_other_row(session: Session, task: Task, among: np.ndarray | None) -> int | None:
    """The best node that takes the task; None: no node does, or its queue may not have more.

    ``among``: the nodes that it may have; None: all.
    """
    queries = session.queries
    if queue_objection(session, task) is not None or queries.prepare(task) is not None:
        return None
    rows = np.flatnonzero(queries.feasible(task))
    if among is not None:
        rows = np.intersect1d(rows, among)
    if task.gpu.shared and len(rows):
        rows = rows[fits_rows(session, task, rows, idle=False)]
    if not len(rows):
        return None
    row = queries.pick(task, rows)
    return None if _capacity_objection(session, task, row) is not None else row
