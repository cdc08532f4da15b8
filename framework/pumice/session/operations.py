"""The operations of a statement: how each changes the session, and how it is undone."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from pumice.errors import StatementError
from pumice.model.nodes import DeviceCounts
from pumice.model.task import Task, TaskStatus

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.session.session import Session

_PENDING, _ALLOCATED, _PIPELINED, _RELEASING = (
    TaskStatus.PENDING,
    TaskStatus.ALLOCATED,
    TaskStatus.PIPELINED,
    TaskStatus.RELEASING,
)


class Kind(enum.Enum):
    EVICT = "evict"
    UNEVICT = "unevict"
    PIPELINE = "pipeline"
    ALLOCATE = "allocate"


_ALLOCATE = Kind.ALLOCATE


class Operation:
    """One change, with what is needed to undo or to repeat it."""

    __slots__ = (
        "claimant",
        "device_counts",
        "eviction_occurred",
        "groups",
        "kind",
        "previous_groups",
        "previous_marks",
        "previous_node",
        "previous_status",
        "reason",
        "returns",
        "row",
        "target",
        "task",
        "verified",
    )

    def __init__(self, kind: Kind, task: Task, row: int) -> None:
        self.kind = kind
        """Eviction, un-eviction, pipelining or allocation."""
        self.task = task
        """The task that it changes."""
        self.row = row
        """The node's row."""
        self.previous_status = task.status
        """The task's status before."""
        self.previous_node = task.node
        """The task's node before."""
        self.previous_groups = task.gpu_groups
        """The task's GPU groups before."""
        self.previous_marks = (task.eviction_occurred, task.virtual)
        """``eviction_occurred`` and ``virtual`` of the task before."""
        self.groups = task.gpu_groups
        """For a placement: the GPU groups that the task joins."""
        self.returns = False
        """For a placement: the task is placed on a node that it is still releasing."""
        self.eviction_occurred = False
        """For a pipelining: whether tasks were evicted for it."""
        self.verified = False
        """For a placement: whether room, filters and queue limits were asked right before it."""
        self.reason = ""
        """For an eviction: why."""
        self.claimant: Job | None = None
        """For an eviction: the job that gains by it."""
        self.target: Operation | None = None
        """For an un-eviction: the eviction that it cancels."""
        self.device_counts: DeviceCounts | None = None
        """The node's GPU counts before, where the task shares GPUs."""


def save_device_counts(session: Session, op: Operation) -> None:
    if op.groups or op.task.gpu_groups:
        op.device_counts = session.nodes.device_counts(op.row)


def restore_device_counts(session: Session, op: Operation) -> None:
    """After an undo: the node counts its GPUs exactly as before the operation."""
    if op.device_counts is not None:
        session.nodes.restore_device_counts(op.row, op.device_counts)


def apply_evict(session: Session, op: Operation) -> object:
    """Evict; answers a plugin's objection, if any."""
    task = op.task
    _set_status(task, _RELEASING)
    session.nodes.recount(op.row, task, _RELEASING)
    task.virtual = True
    return session.ask.on_deallocate(task)


def undo_evict(session: Session, op: Operation, *, exact: bool) -> None:
    task = op.task
    _set_status(task, op.previous_status)
    if exact or task.uid in session.nodes.held[op.row]:
        session.nodes.recount(op.row, task, op.previous_status)
    else:
        session.nodes.add(op.row, task, op.previous_status)
    task.eviction_occurred, task.virtual = op.previous_marks
    session.undone(session.ask.on_allocate(task))


def apply_place(session: Session, op: Operation) -> object:
    """Allocate or pipeline; answers a plugin's objection, if any."""
    task = op.task
    if task.job is None:
        raise StatementError(f"task {task.key} belongs to no job")
    if task.status is not _PENDING and (op.kind is _ALLOCATE or task.status is not _RELEASING):
        raise StatementError(f"task {task.key} is {task.status.label}: it has a node already")
    status = _ALLOCATED if op.kind is _ALLOCATE else _PIPELINED
    if op.groups or task.gpu_groups:
        op.device_counts = session.nodes.device_counts(op.row)
    if op.returns:
        session.nodes.set_aside(op.row, task)
    task.gpu_groups = op.groups
    session.nodes.add(op.row, task, status)
    task.job.set_status(task, status)
    task.node = session.nodes.names[op.row]
    task.eviction_occurred = op.eviction_occurred
    return session.ask.on_allocate(task)


def undo_place(session: Session, op: Operation, *, exact: bool) -> None:
    task = op.task
    assert task.job is not None
    task.job.set_status(task, op.previous_status)
    session.nodes.remove(op.row, task)
    task.gpu_groups = op.previous_groups
    if op.returns and exact:
        session.nodes.take_back(op.row, task)
    session.undone(session.ask.on_deallocate(task))
    task.node = op.previous_node
    task.eviction_occurred, task.virtual = op.previous_marks
    task.job_hyper_node = ""


def _set_status(task: Task, status: TaskStatus) -> None:
    if task.job is not None:
        task.job.set_status(task, status)
    else:
        task.status = status
