"""Backfill: place tasks without resource requests on any node that accepts them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from pydantic import Field

from pumice import (
    Action,
    ActionEntry,
    FitErrors,
    Job,
    JobHeap,
    Policy,
    Refusal,
    Session,
    Task,
    TaskStatus,
)
from pumice.gang import has_minimum
from pumice.solver import rows_beside_job
from pumice_builtin_actions.greedy.options import IgnoredErrorCacheOptions

_PIPELINED = TaskStatus.PIPELINED
_ALLOCATED = TaskStatus.ALLOCATED


class Backfill(Action):
    """Place best-effort tasks in queue, job and task order, without quota checks.

    A job that is below its minimum gets as many as it lacks at once, or none, and one of a queue
    that is not open gets none.
    """

    needs_pending = True
    reads_fit_errors = False

    class Options(IgnoredErrorCacheOptions):
        upstream_checks: bool = Field(
            False,
            alias="upstreamChecks",
            description="Copy Volcano, which counts pending tasks without requests as ready and so"
            " binds a part of a gang, looks at no network topology, and places tasks of queues that"
            " are not open.",
        )

    @classmethod
    def cautions(cls, entry: ActionEntry, policy: Policy) -> Iterator[str]:
        later = [action.name for action in policy.actions_after(entry) if action.cls.allocates]
        if later and not any(action.cls.allocates for action in policy.actions_before(entry)):
            yield (
                f"{entry.name} runs before {later[0]}, so its tasks take nodes that gangs may need"
            )

    def execute(self, session: Session) -> None:
        for job, tasks in _best_effort_tasks(session, any_queue=self.options.upstream_checks):
            with session.turn(job):
                if self.options.upstream_checks or has_minimum(job):
                    for task in tasks:
                        self._place(session, job, task)
                else:
                    self._start(session, job, tasks)

    def _place(self, session: Session, job: Job, task: Task) -> None:
        """Place a task of a job that runs."""
        row = self._best_row(session, job, task)
        if row < 0:
            return
        with session.statement() as statement:
            if statement.allocate(task, row) is None:
                statement.keep()
        if session.ask.job_ready(job):
            _bind_placed(session, job)

    def _start(self, session: Session, job: Job, tasks: list[Task]) -> None:
        """Place the tasks that find a node and bind them, if the job then has its minimum."""
        with session.statement() as statement:
            for task in tasks:
                row = self._best_row(session, job, task)
                if row >= 0:
                    statement.allocate(task, row)
            if not has_minimum(job) or not session.ask.job_ready(job):
                return
            statement.keep()
        _bind_placed(session, job)

    def _best_row(self, session: Session, job: Job, task: Task) -> int:
        """The row of the best node for a task; -1: none takes it, and why is recorded."""
        error = session.queries.prepare(task)
        if error is not None:
            job.fit_errors[task.uid] = FitErrors.for_all(error, len(session.nodes))
            return -1
        verdicts = session.queries.verdicts(task)
        rows = np.flatnonzero(verdicts.ok)
        beside = None if self.options.upstream_checks else rows_beside_job(session, task)
        if beside is not None:
            rows = np.intersect1d(rows, beside)
        for group in session.shard.split(rows):
            if group is not None and len(group):
                return session.queries.pick(task, group)
        job.fit_errors[task.uid] = FitErrors(verdicts)
        return -1


def _best_effort_tasks(session: Session, *, any_queue: bool) -> list[tuple[Job, list[Task]]]:
    """By job; ``any_queue``: of queues that are not open, too."""
    if not any(map(_has_best_effort, session.jobs.values())):
        return []
    waiting: dict[str, JobHeap] = {}
    for job in session.jobs.values():
        with session.turn(job):
            if job.is_pending or session.ask.job_valid(job) is not None:
                continue
            if any_queue or _is_queue_open(session, job):
                waiting.setdefault(job.queue, session.order.job_heap()).push(job)
    collected = []
    queues = session.order.queue_heap(session.queues[name] for name in waiting)
    while queues:
        jobs = waiting[queues.pop().name]
        while jobs:
            job = jobs.pop()
            for task in job.having(_PIPELINED):
                # A best-effort task that an earlier action pipelined is placed again.
                if task.best_effort and not session.evictions.is_reserved(task):
                    session.unplace(task)
            tasks = [t for t in job.pending if t.best_effort and not t.gated]
            if tasks:
                collected.append((job, session.order.sorted_tasks(tasks)))
    return collected


def _is_queue_open(session: Session, job: Job) -> bool:
    queue = session.queue_of(job)
    if not queue.is_open and _has_best_effort(job):
        text = f"queue {queue.name} is {queue.state}"
        job.refusals.append(Refusal("QueueNotOpen", text, {"queue": queue.name}))
    return queue.is_open


def _has_best_effort(job: Job) -> bool:
    """Whether a best-effort task of the job is pending or pipelined."""
    if job.pending_best_effort > 0:
        return True
    pipelined = job.by_status[_PIPELINED]
    return bool(pipelined) and any(task.best_effort for task in pipelined.values())


def _bind_placed(session: Session, job: Job) -> None:
    for placed in job.having(_ALLOCATED):
        if session.decide_bind(placed, session.nodes.row_of[placed.node]) is not None:
            session.unplace(placed)
