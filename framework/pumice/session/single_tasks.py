"""Jobs of one task, placed without a statement for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pumice.errors import PluginError
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus, Transaction
from pumice.session.nodes.queries import NOWHERE
from pumice.session.operations import Kind, Operation, apply_place, undo_place

if TYPE_CHECKING:
    from pumice.session.session import Session


class SingleTasks:
    """Places a task on the best node and binds it, as a statement with this one operation would.

    Whatever is not the plain case is left to the caller's own way: then nothing has been changed.
    What a plugin raises is raised after the placement is undone, as in a turn with a statement.
    """

    __slots__ = ("_among_future", "_is_ready", "_session", "active", "nowhere")

    def __init__(
        self,
        session: Session,
        *,
        among_future: bool = False,
        is_ready: Callable[[Job], bool] | None = None,
    ) -> None:
        """``among_future``: as KAI does, the best of all nodes whose future idle fits is tried.

        ``is_ready`` is asked about a job with its task allocated, and must agree to the bind.
        """
        self._session = session
        self._among_future = among_future
        self._is_ready = is_ready
        self.active = (
            len(session.jobs) > 1
            and session.uses("single_tasks")
            and session.ledger is None
            and session.shard.mode == "none"
        )
        """Whether a task is placed here at all: a single job would gain nothing."""
        self.nowhere = False
        """Whether the last task was not placed because no node has room for it, or will have."""

    def task_of(self, job: Job) -> Task | None:
        """The only task of a job, if it may be placed here."""
        self.nowhere = False
        if not self.active or len(job.tasks) != 1:
            return None
        (task,) = job.tasks.values()
        if task.status is not TaskStatus.PENDING or task.gated or task.best_effort:
            return None
        if task.nominated_node or task.gpu.shared or task.gpu.claimed:
            return None
        return task

    def place(self, task: Task) -> bool:
        """Place a task and bind it, or have the bind refused; False: nothing was changed.

        With ``nowhere`` it is recorded why, as the caller's own way would.
        """
        session, job = self._session, task.job
        assert job is not None
        self.nowhere = False
        if session.queries.prepare(task) is not None:
            return False
        row = session.queries.best_idle(task, among_future=self._among_future)
        if row < 0:
            if row == NOWHERE:
                self.nowhere = True
                job.fit_errors[task.uid] = session.queries.fit_errors(task)
            return False
        op = Operation(Kind.ALLOCATE, task, row)
        objection = apply_place(session, op)
        if objection is not None:
            undo_place(session, op, exact=True)
            if isinstance(objection, PluginError):
                raise objection
            return False
        try:
            if self._is_ready is not None and not self._is_ready(job):
                undo_place(session, op, exact=True)
                return False
            task.virtual = False
            refusal = session.decide_bind(task, row)
        except BaseException:
            task.last_transaction = Transaction(task.status, task.node, task.eviction_occurred)
            undo_place(session, op, exact=True)
            raise
        task.last_transaction = None
        if refusal is not None:
            undo_place(session, op, exact=True)
        return True
