"""Statements: operations that change the session at once and can be taken back exactly."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pumice.errors import PluginError, StatementError
from pumice.model.nodes import DeviceCounts
from pumice.model.task import Task, TaskStatus, Transaction

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.session.session import Session

_S = TaskStatus
_NOT_EVICTABLE = frozenset({_S.PENDING, _S.RELEASING})


class Kind(enum.Enum):
    EVICT = "evict"
    UNEVICT = "unevict"
    PIPELINE = "pipeline"
    ALLOCATE = "allocate"


class Operation:
    """One change, with what is needed to take it back or to do it again."""

    __slots__ = (
        "aside",
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
        "row",
        "target",
        "task",
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
        self.aside = False
        """For a placement: the task comes back to a node that it is still leaving."""
        self.eviction_occurred = False
        """For a pipelining: whether tasks were evicted for it."""
        self.reason = ""
        """For an eviction: why."""
        self.claimant: Job | None = None
        """For an eviction: the job that it makes room for."""
        self.target: Operation | None = None
        """For an un-eviction: the eviction that it cancels."""
        self.device_counts: DeviceCounts | None = None
        """How the node counted its GPUs before, where the task shares some."""


class Statement:
    """A transaction on the session.

    Use it as a context manager: leaving without :meth:`commit` or :meth:`keep` takes everything
    back. Operations are applied immediately, so that the next question sees them; plugins hear
    ``on_allocate`` and ``on_deallocate`` for each, in both directions. A plugin that raises ends
    the operation, which is undone, with a :class:`~pumice.errors.PluginError`.

    ``exact=False`` copies a flaw of KAI's undo: a victim that came back to its node on other
    devices is put there anew, and what it was leaving stays counted for the rest of the cycle.
    """

    __slots__ = ("_cancels", "_closed", "_exact", "_operations", "_session")

    def __init__(self, session: Session, *, exact: bool = True) -> None:
        self._session = session
        self._exact = exact
        self._operations: list[Operation] = []
        self._cancels = False
        """Whether an eviction may have been taken back."""
        self._closed = False
        session._open_statements.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._closed:
            self.discard()

    def __len__(self) -> int:
        return len(self._operations)

    @property
    def operations(self) -> tuple[Operation, ...]:
        """What was done and not taken back, in order."""
        return tuple(self._operations)

    @property
    def has_evictions(self) -> bool:
        """Whether an eviction stands."""
        return any(op.kind is Kind.EVICT for op in self._standing())

    # -- operations

    def evict(self, task: Task, reason: str, *, claimant: Job | None = None) -> None:
        """Evict a task that is on a node: its room is promised to whoever is placed next."""
        self._require_open()
        row = self._session.nodes.row_of.get(task.node)
        if row is None or task.uid not in self._session.nodes.held[row]:
            raise StatementError(f"task {task.key} is on no node of the session")
        if task.status in _NOT_EVICTABLE:
            raise StatementError(f"task {task.key} is {task.status.label}: it cannot be evicted")
        op = Operation(Kind.EVICT, task, row)
        op.reason, op.claimant = reason, claimant
        self._note_books(op)
        objection = self._apply_evict(op)
        if isinstance(objection, PluginError):
            self._undo_evict(op)
            self._reset_books(op)
            raise objection
        self._append(op)

    def unevict(self, task: Task) -> None:
        """Take back the eviction of one task without touching what came after it."""
        self._require_open()
        for target in self._standing():
            if target.kind is Kind.EVICT and target.task is task:
                if task.status is not _S.RELEASING:
                    raise StatementError(f"task {task.key} has been placed since its eviction")
                op = Operation(Kind.UNEVICT, task, target.row)
                op.target = target
                self._cancels = True
                self._note_books(op)
                self._undo_evict(target)
                self._append(op)
                return
        raise StatementError(f"task {task.key} has not been evicted by this statement")

    def pipeline(
        self,
        task: Task,
        row: int,
        *,
        eviction_occurred: bool = False,
        groups: tuple[str, ...] | None = None,
    ) -> str | None:
        """Promise a task room that is being freed. Answers a plugin's objection, if any.

        A victim that is promised its own place again is no victim: its eviction is taken back.
        """
        op = Operation(Kind.PIPELINE, task, row)
        op.eviction_occurred = eviction_occurred
        if groups is not None:
            op.groups = groups
        here = self._session.nodes.held[row].get(task.uid)
        if here is not None:
            if not groups or set(groups) == set(here.groups):
                self.unevict(task)
                return None
            op.aside = True
        return self._place(op)

    def allocate(
        self, task: Task, row: int, *, groups: tuple[str, ...] | None = None
    ) -> str | None:
        """Give a task idle room. Answers a plugin's objection, if any."""
        op = Operation(Kind.ALLOCATE, task, row)
        if groups is not None:
            op.groups = groups
        return self._place(op)

    def pipeline_allocated(self, job: Job) -> str | None:
        """Turn what the statement allocated for a job into promises on the same nodes."""
        allocated = [
            op for op in self._operations if op.kind is Kind.ALLOCATE and op.task.job is job
        ]
        for op in allocated:
            self._operations.remove(op)
            self._undo_place(op)
            objection = self.pipeline(op.task, op.row, groups=op.groups)
            if objection is not None:
                return objection
        return None

    def _place(self, op: Operation) -> str | None:
        self._require_open()
        objection = self._apply_place(op)
        if objection is not None:
            self._undo_place(op)
            self._reset_books(op)
            if isinstance(objection, PluginError):
                raise objection
            return str(objection)
        self._append(op)
        return None

    def _require_open(self) -> None:
        if self._closed:
            raise StatementError("the statement has been committed, kept or discarded already")

    def _standing(self) -> list[Operation]:
        """The operations but for evictions that were taken back."""
        if not self._cancels:
            return self._operations.copy()
        cancelled = {id(op.target) for op in self._operations if op.target is not None}
        return [
            op for op in self._operations if op.kind is not Kind.UNEVICT and id(op) not in cancelled
        ]

    def _append(self, op: Operation) -> None:
        self._operations.append(op)
        self._record(op.kind.value, op)

    def _record(self, event: str, op: Operation) -> None:
        ledger = self._session.ledger
        if ledger is not None and ledger.statements:
            ledger.record(
                event,
                task=op.task.key,
                node=self._session.nodes.names[op.row],
                reason=op.reason,
                claimant=op.claimant.uid if op.claimant else None,
            )

    def _note_books(self, op: Operation) -> None:
        if op.groups or op.task.gpu_groups:
            op.device_counts = self._session.nodes.device_counts(op.row)

    def _reset_books(self, op: Operation) -> None:
        """After the last operation was taken back: its node counts GPUs as before it."""
        if self._exact and op.device_counts is not None:
            self._session.nodes.restore_device_counts(op.row, op.device_counts)

    def _apply_evict(self, op: Operation) -> object:
        session, task = self._session, op.task
        if task.job is not None:
            task.job.set_status(task, _S.RELEASING)
        else:
            task.status = _S.RELEASING
        session.nodes.recount(op.row, task, _S.RELEASING)
        task.virtual = True
        return session.ask.on_deallocate(task)

    def _undo_evict(self, op: Operation) -> None:
        session, task = self._session, op.task
        if task.job is not None:
            task.job.set_status(task, op.previous_status)
        else:
            task.status = op.previous_status
        if self._exact or task.uid in session.nodes.held[op.row]:
            session.nodes.recount(op.row, task, op.previous_status)
        else:
            session.nodes.add(op.row, task, op.previous_status)
        task.eviction_occurred, task.virtual = op.previous_marks
        session.undone(session.ask.on_allocate(task))

    def _apply_place(self, op: Operation) -> object:
        session, task = self._session, op.task
        if task.job is None:
            raise StatementError(f"task {task.key} belongs to no job")
        if task.status is not _S.PENDING and (
            op.kind is Kind.ALLOCATE or task.status is not _S.RELEASING
        ):
            raise StatementError(f"task {task.key} is {task.status.label}, so it has its place")
        status = _S.ALLOCATED if op.kind is Kind.ALLOCATE else _S.PIPELINED
        self._note_books(op)
        if op.aside:
            session.nodes.set_aside(op.row, task)
        task.gpu_groups = op.groups
        session.nodes.add(op.row, task, status)
        task.job.set_status(task, status)
        task.node = session.nodes.names[op.row]
        task.eviction_occurred = op.eviction_occurred
        return session.ask.on_allocate(task)

    def _undo_place(self, op: Operation) -> None:
        session, task = self._session, op.task
        assert task.job is not None
        task.job.set_status(task, op.previous_status)
        session.nodes.remove(op.row, task)
        task.gpu_groups = op.previous_groups
        if op.aside and self._exact:
            session.nodes.take_back(op.row, task)
        session.undone(session.ask.on_deallocate(task))
        task.node = op.previous_node
        task.eviction_occurred, task.virtual = op.previous_marks
        task.job_hyper_node = ""

    def _undo(self, op: Operation) -> None:
        if op.kind is Kind.EVICT:
            self._undo_evict(op)
        elif op.kind is Kind.UNEVICT:
            assert op.target is not None
            self._session.undone(self._apply_evict(op.target))
        else:
            self._undo_place(op)
        self._reset_books(op)
        self._record("undo", op)

    # -- taking back and keeping

    def checkpoint(self) -> int:
        """A mark that :meth:`rollback` can return to."""
        return len(self._operations)

    def rollback(self, checkpoint: int) -> None:
        """Take back everything since the mark, the last operation first."""
        self._require_open()
        if not 0 <= checkpoint <= len(self._operations):
            raise StatementError(f"no checkpoint {checkpoint} in this statement")
        while len(self._operations) > checkpoint:
            self._undo(self._operations.pop())

    def discard(self) -> None:
        """Take everything back. Each task remembers where it would have gone."""
        self._require_open()
        for op in self._operations:
            op.task.last_transaction = Transaction(
                op.task.status, op.task.node, op.task.eviction_occurred
            )
        self.rollback(0)
        self._close("discard")

    def keep(self) -> None:
        """Leave the placements in place for the rest of the cycle without carrying them out."""
        self._require_open()
        self._close("keep")

    def commit(self) -> None:
        """Carry the operations out: evictions and binds become decisions of the cycle.

        A bind that a plugin refuses is undone; the others go out all the same.
        """
        self._require_open()
        session = self._session
        for op in self._standing():
            op.task.last_transaction = None
            op.task.virtual = False
            if op.kind is Kind.EVICT:
                session.decide_eviction(op.task, op.row, op.reason, op.claimant)
            elif op.kind is Kind.ALLOCATE and op.task.status is _S.ALLOCATED:
                refusal = session.decide_bind(op.task, op.row)
                if refusal is not None:
                    self._undo_place(op)
        self._close("commit")

    def _close(self, event: str) -> None:
        ledger = self._session.ledger
        if ledger is not None and ledger.statements:
            ledger.record(event, operations=len(self._operations))
        self._operations = []
        self._closed = True
        self._session._open_statements.remove(self)

    # -- trials

    def merge(self, other: Statement) -> None:
        """Take over the operations of another statement of the same session, already applied."""
        self._require_open()
        other._require_open()
        self._operations.extend(other._operations)
        self._cancels = self._cancels or other._cancels
        other._close("merge")

    def save(self) -> list[Operation]:
        """What the statement does, to be done again by :meth:`recover` after a discard."""
        return self._standing()

    def recover(self, saved: list[Operation]) -> str | None:
        """Do saved operations again. The first objection ends it and is answered."""
        for op in saved:
            if op.kind is Kind.EVICT:
                self.evict(op.task, op.reason, claimant=op.claimant)
            elif op.kind is Kind.PIPELINE:
                objection = self.pipeline(
                    op.task, op.row, eviction_occurred=op.eviction_occurred, groups=op.groups
                )
                if objection is not None:
                    return objection
            elif op.kind is Kind.ALLOCATE:
                objection = self.allocate(op.task, op.row, groups=op.groups)
                if objection is not None:
                    return objection
        return None
