"""Consistency of a session's counts: checked after every action in tests and with ``--check``."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from pumice.errors import InvariantError
from pumice.model.gpu.request import GPU
from pumice.model.job import Members
from pumice.model.task import IS_ALLOCATED, IS_READY, TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session

_S = TaskStatus


def check(session: Session) -> None:
    """Raise :class:`InvariantError` naming the first thing that does not add up."""
    _check_nodes(session)
    _check_jobs(session)
    _check_places(session)
    _check_gangs(session)


def _check_nodes(session: Session) -> None:
    nodes = session.nodes
    gpu = nodes.dimensions.position.get(GPU)
    for row, held in enumerate(nodes.held):
        used, releasing, pipelined = (np.zeros(len(nodes.dimensions), np.int64) for _ in range(3))
        for entry in held.values():
            if entry.status is _S.PIPELINED:
                pipelined += entry.task.vector
            else:
                used += entry.task.vector
                if entry.status is _S.RELEASING:
                    releasing += entry.task.vector
        expected = {
            "used": used,
            "releasing": releasing,
            "pipelined": pipelined,
            "idle": nodes.allocatable[row] - used,
            "future_idle": nodes.allocatable[row] - used + releasing - pipelined,
        }
        shared = any(entry.groups for entry in held.values())
        for column, values in expected.items():
            actual = getattr(nodes, column)[row]
            if shared:  # whole GPUs come and go with the groups that share them
                values = values.copy()
                values[gpu] = actual[gpu]
            if not np.array_equal(actual, values):
                raise InvariantError(
                    f"node {nodes.names[row]}: {column} is {actual.tolist()}, "
                    f"its tasks add up to {values.tolist()}"
                )
        if nodes.pod_count[row] != len(held):
            raise InvariantError(f"node {nodes.names[row]}: pod count is not that of its tasks")


def _check_jobs(session: Session) -> None:
    for job in session.jobs.values():
        allocated = np.zeros(len(session.nodes.dimensions), np.int64)
        for task in job.tasks.values():
            if IS_ALLOCATED[task.status]:
                allocated += task.vector
        if not np.array_equal(allocated, job.allocated):
            raise InvariantError(f"job {job.uid}: allocated is not the sum of its tasks")
        _check_members(job)
        for sub_job in job.sub_jobs.values():
            _check_members(sub_job)
        if sum(len(sub_job.tasks) for sub_job in job.sub_jobs.values()) != len(job.tasks):
            raise InvariantError(f"job {job.uid}: its sub-jobs do not have its tasks")


def _check_members(members: Members) -> None:
    for task in members.tasks.values():
        if task.uid not in members.by_status[task.status]:
            raise InvariantError(f"task {task.key} is not indexed as {task.status.label}")
    if sum(len(tasks) for tasks in members.by_status) != len(members.tasks):
        raise InvariantError(f"{members.uid}: a task is indexed under two statuses")
    if sum(IS_READY[task.status] for task in members.tasks.values()) != members.ready_count:
        raise InvariantError(f"{members.uid}: its ready tasks are miscounted")
    waiting = sum(1 for task in members.by_status[_S.PENDING].values() if task.best_effort)
    if waiting != members.pending_best_effort:
        raise InvariantError(f"{members.uid}: its pending best-effort tasks are miscounted")


def _check_places(session: Session) -> None:
    places = Counter(
        uid
        for held in session.nodes.held
        for uid, entry in held.items()
        if entry.status not in (_S.RELEASING, _S.PIPELINED)
    )
    for uid, count in places.items():
        if count > 1:
            raise InvariantError(f"task {session.cluster.tasks[uid].key} is on {count} nodes")


def _check_gangs(session: Session) -> None:
    """The binds of a cycle complete the minimum of every gang they touch.

    Not so where a task was lost after that: evicted by a later action, or refused by a plugin.
    """
    tasks = session.cluster.tasks
    lost = {tasks[eviction.uid].job for eviction in session.decisions.evictions}
    lost |= {tasks[uid].job for uid in session.refused_binds}
    for job in dict.fromkeys(tasks[bind.uid].job for bind in session.decisions.binds):
        if job is not None and job not in lost and not session.ask.job_ready(job):
            raise InvariantError(f"job {job.uid} was bound below its minimum")
