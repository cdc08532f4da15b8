"""Statements: transactions whose operations change the session at once and can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pumice.errors import PluginError, StatementError
from pumice.model.task import Task, TaskStatus, Transaction
from pumice.session.operations import (
    Kind,
    Operation,
    apply_evict,
    apply_place,
    restore_device_counts,
    save_device_counts,
    undo_evict,
    undo_place,
)
from pumice.verdicts import Refusal

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.session.session import Session

_EVICT, _UNEVICT, _PIPELINE, _ALLOCATE = Kind
_PENDING, _ALLOCATED, _RELEASING = (
    TaskStatus.PENDING,
    TaskStatus.ALLOCATED,
    TaskStatus.RELEASING,
)
_NOT_EVICTABLE = frozenset({_PENDING, _RELEASING})


class Statement:
    """A transaction on the session.

    Use it as a context manager: leaving without :meth:`commit` or :meth:`keep` undoes everything.
    Operations are applied immediately, so that the next query sees them; ``on_allocate`` or
    ``on_deallocate`` is called for each operation and for each undo. If a plugin raises, the
    operation is undone and a :class:`~pumice.errors.PluginError` raised.

    ``exact=False`` copies a flaw of KAI's undo (``stale_releases`` of the solver): a victim that
    was pipelined to other GPUs of its own node is added to the node a second time, and its release
    stays counted for the rest of the cycle.
    """

    __slots__ = ("_cancels", "_closed", "_evicts", "_exact", "_operations", "_session")

    def __init__(self, session: Session, *, exact: bool = True) -> None:
        self._session = session
        self._exact = exact
        self._operations: list[Operation] = []
        self._cancels = False
        """Whether an eviction may have been cancelled by :meth:`unevict`."""
        self._evicts = False
        """Whether an eviction may stand."""
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
        return any(op.kind is _EVICT for op in self._standing())

    # -- operations

    def evict(self, task: Task, reason: str, *, claimant: Job | None = None) -> None:
        """Evict a task that is on a node: what it holds becomes releasing, part of future idle."""
        self._require_open()
        row = self._session.nodes.row_of.get(task.node)
        if row is None or task.uid not in self._session.nodes.held[row]:
            raise StatementError(f"task {task.key} is on no node of the session")
        if task.status in _NOT_EVICTABLE:
            raise StatementError(f"task {task.key} is {task.status.label}: it cannot be evicted")
        op = Operation(_EVICT, task, row)
        op.reason, op.claimant = reason, claimant
        save_device_counts(self._session, op)
        objection = apply_evict(self._session, op)
        if isinstance(objection, PluginError):
            undo_evict(self._session, op, exact=self._exact)
            self._restore_device_counts(op)
            raise objection
        self._evicts = True
        self._append(op)

    def unevict(self, task: Task) -> None:
        """Cancel the eviction of one task; operations after it stay."""
        self._require_open()
        for target in self._standing():
            if target.kind is _EVICT and target.task is task:
                if task.status is not _RELEASING:
                    raise StatementError(f"task {task.key} has been placed since its eviction")
                op = Operation(_UNEVICT, task, target.row)
                op.target = target
                self._cancels = True
                save_device_counts(self._session, op)
                undo_evict(self._session, target, exact=self._exact)
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
        verified: bool = False,
    ) -> str | None:
        """Place a task on future idle. Answers a plugin's objection, if any.

        A victim that is pipelined to its own node, and to the same GPUs, is un-evicted.
        ``verified``: the caller has just asked room, filters and queue limits, so that a plan with
        evictions need not be verified when it is committed.
        """
        op = Operation(_PIPELINE, task, row)
        op.eviction_occurred = eviction_occurred
        op.verified = verified
        if groups is not None:
            op.groups = groups
        held = self._session.nodes.held[row].get(task.uid)
        if held is not None:
            if not groups or set(groups) == set(held.groups):
                self.unevict(task)
                return None
            op.returns = True
        return self._place(op)

    def allocate(
        self,
        task: Task,
        row: int,
        *,
        groups: tuple[str, ...] | None = None,
        verified: bool = False,
    ) -> str | None:
        """Place a task on idle resources. Answers a plugin's objection, if any.

        ``verified`` as in :meth:`pipeline`.
        """
        op = Operation(_ALLOCATE, task, row)
        op.verified = verified
        if groups is not None:
            op.groups = groups
        return self._place(op)

    def pipeline_allocated(self, job: Job) -> str | None:
        """Pipeline what the statement allocated for a job, on the same nodes."""
        allocated = [op for op in self._operations if op.kind is _ALLOCATE and op.task.job is job]
        for op in allocated:
            self._operations.remove(op)
            undo_place(self._session, op, exact=self._exact)
            objection = self.pipeline(op.task, op.row, groups=op.groups, verified=op.verified)
            if objection is not None:
                return objection
        return None

    def _place(self, op: Operation) -> str | None:
        self._require_open()
        objection = apply_place(self._session, op)
        if objection is not None:
            undo_place(self._session, op, exact=self._exact)
            self._restore_device_counts(op)
            if isinstance(objection, PluginError):
                raise objection
            return str(objection)
        self._append(op)
        return None

    def _require_open(self) -> None:
        if self._closed:
            raise StatementError("the statement has been committed, kept or discarded already")

    def _standing(self) -> list[Operation]:
        """The operations without evictions that were cancelled, and what cancelled them."""
        if not self._cancels:
            return self._operations.copy()
        cancelled = {id(op.target) for op in self._operations if op.target is not None}
        return [
            op for op in self._operations if op.kind is not _UNEVICT and id(op) not in cancelled
        ]

    def _append(self, op: Operation) -> None:
        self._operations.append(op)
        self._record(op.kind.value, op)

    def _record(self, event: str, op: Operation) -> None:
        ledger = self._session.ledger
        if ledger is not None and ledger.statements:
            ledger.operation(event, op, self._session.nodes.names[op.row])

    def _restore_device_counts(self, op: Operation) -> None:
        if self._exact:
            restore_device_counts(self._session, op)

    def _undo(self, op: Operation) -> None:
        if op.kind is _EVICT:
            undo_evict(self._session, op, exact=self._exact)
        elif op.kind is _UNEVICT:
            assert op.target is not None
            self._session.undone(apply_evict(self._session, op.target))
        else:
            undo_place(self._session, op, exact=self._exact)
        self._restore_device_counts(op)
        self._record("undo", op)

    # -- undo, keep, commit

    def checkpoint(self) -> int:
        """The point that :meth:`rollback` can return to."""
        return len(self._operations)

    def rollback(self, checkpoint: int) -> None:
        """Undo everything since a checkpoint, the last operation first."""
        self._require_open()
        if not 0 <= checkpoint <= len(self._operations):
            raise StatementError(f"no checkpoint {checkpoint} in this statement")
        while len(self._operations) > checkpoint:
            self._undo(self._operations.pop())

    def discard(self) -> None:
        """Undo everything. Each task records where it would have been placed."""
        self._require_open()
        for op in self._operations:
            op.task.last_transaction = Transaction(
                op.task.status, op.task.node, op.task.eviction_occurred
            )
        undone = self._operations.copy()
        self.rollback(0)
        self._close("discard", undone)

    def keep(self) -> None:
        """Leave the operations applied for the rest of the cycle without carrying them out."""
        self._require_open()
        self._note_pipelined()
        self._close("keep")

    def commit(self) -> bool:
        """Carry the operations out: evictions and binds become decisions of the cycle.

        A bind that a plugin refuses is undone; the others are carried out. Evictions that do not
        satisfy ``[evictions]`` of the policy are not carried out, nor is anything else of the
        statement: it is undone, and the claimants get the reason. Answers whether everything was
        carried out.
        """
        self._require_open()
        session, complete = self._session, True
        if session.evictions.active and self._evicts:
            objection = session.evictions.admit(self)
            if objection is not None:
                self._refuse(objection)
                return False
        for op in self._standing():
            op.task.last_transaction = None
            op.task.virtual = False
            if op.kind is _EVICT:
                session.decide_eviction(op.task, op.row, op.reason, op.claimant)
            elif op.kind is _ALLOCATE and op.task.status is _ALLOCATED:
                refusal = session.decide_bind(op.task, op.row)
                if refusal is not None:
                    complete = False
                    undo_place(self._session, op, exact=self._exact)
        self._note_pipelined()
        self._close("commit")
        return complete

    def _note_pipelined(self) -> None:
        for op in self._operations:
            if op.kind is _PIPELINE:
                self._session.pipelined[op.task.uid] = op.task

    def _refuse(self, objection: str) -> None:
        """Undo everything, and record why for the jobs that evictions were for."""
        claimants = {id(op.claimant): op.claimant for op in self._standing()}
        text = f"{self._session.current_action} evicts nothing for it: {objection}"
        for job in claimants.values():
            if job is not None:
                job.refusals.append(Refusal("EvictionRefused", text))
        undone = self._operations.copy()
        self.rollback(0)
        self._close("refuse", undone, objection)

    def _close(self, event: str, undone: Sequence[Operation] = (), reason: str = "") -> None:
        ledger = self._session.ledger
        if ledger is not None and ledger.statements:
            done = undone or self._operations
            ledger.closed(event, [op.kind.value for op in done], reason)
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
        self._evicts = self._evicts or other._evicts
        other._close("merge")

    def save(self) -> list[Operation]:
        """The operations, to be repeated by :meth:`recover` after a discard."""
        return self._standing()

    def recover(self, saved: list[Operation]) -> str | None:
        """Repeat saved operations. Answers the first objection, which ends it."""
        for op in saved:
            if op.kind is _EVICT:
                self.evict(op.task, op.reason, claimant=op.claimant)
            elif op.kind is _PIPELINE:
                objection = self.pipeline(
                    op.task,
                    op.row,
                    eviction_occurred=op.eviction_occurred,
                    groups=op.groups,
                    verified=op.verified,
                )
                if objection is not None:
                    return objection
            elif op.kind is _ALLOCATE:
                objection = self.allocate(op.task, op.row, groups=op.groups, verified=op.verified)
                if objection is not None:
                    return objection
        return None
