"""Freed resources are held for the job that they were freed for, across cycles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pumice.log import logger
from pumice.model.facts import EvictionLog, Reservation, ReservedTask
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.evictions.gangs import is_broken
from pumice.session.evictions.placing import fits, groups_on, objection_to
from pumice.session.operations import Kind, Operation
from pumice.verdicts import Refusal

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.session.statement import Statement

_PIPELINE = Kind.PIPELINE
_S = TaskStatus
_LEAVING = frozenset({_S.RELEASING})
"""The task is still on its old node."""
_WAITING = frozenset({_S.PENDING, _S.PIPELINED, _S.RELEASING})
_INCOMPLETE = "the gang is not complete with what is held"
"""No failure of the job: the rest of its gang was evicted meanwhile."""


class Reservations:
    """The reservations of a session: those of earlier cycles, and those that it makes."""

    def __init__(self, session: Session, log: EvictionLog) -> None:
        self._session = session
        self._by_job = dict(log.reservations)

    def earlier(self) -> list[Reservation]:
        """Those of earlier cycles, the one that ends first at the beginning."""
        return sorted(self._by_job.values(), key=lambda one: (one.deadline, one.job))

    def add(self, placements: Iterable[Operation]) -> None:
        """Hold the resources on which these tasks are pipelined."""
        session = self._session
        deadline = session.now + session.policy.evictions.reservation
        added: dict[str, list[ReservedTask]] = {}
        for op in placements:
            if op.kind is _PIPELINE and op.task.job is not None:
                reserved = _reserved(op.task, session.nodes.names[op.row])
                added.setdefault(op.task.job.uid, []).append(reserved)
        for uid, tasks in added.items():
            known = self._by_job.get(uid)
            generation = len(tasks)
            if known is not None:
                anew = {one.uid for one in tasks}
                tasks = [*(one for one in known.tasks if one.uid not in anew), *tasks]
                generation += known.generation
            self._by_job[uid] = Reservation(uid, tuple(tasks), deadline, generation)

    def take_over(self, reservation: Reservation, tasks: Iterable[ReservedTask]) -> None:
        """Hold the resources of a reservation for these tasks, which replace others."""
        generation = reservation.generation + 1
        self._by_job[reservation.job] = replace(
            reservation, tasks=tuple(tasks), generation=generation
        )

    def drop(self, job: str) -> None:
        """Hold nothing for a job any more."""
        self._by_job.pop(job, None)

    def includes(self, task: Task) -> bool:
        """Whether something is held for a task."""
        held = self._by_job.get(task.job.uid) if task.job is not None else None
        return held is not None and any(one.uid == task.uid for one in held.tasks)

    def standing(self) -> Mapping[str, Reservation]:
        """Those that hold beyond this cycle: of tasks that still wait."""
        jobs = self._session.jobs
        return {
            uid: reservation
            for uid, reservation in self._by_job.items()
            if uid in jobs and _has_task(jobs[uid], reservation, _WAITING)
        }


def _reserved(task: Task, node: str) -> ReservedTask:
    return ReservedTask(task.uid, node, task.gpu_groups, task.role)


def _has_task(job: Job, reservation: Reservation, statuses: frozenset[TaskStatus]) -> bool:
    """Whether a task of the reservation has one of the statuses."""
    tasks = (job.tasks.get(one.uid) for one in reservation.tasks)
    return any(task is not None and task.status in statuses for task in tasks)


def honour_reservations(session: Session) -> None:
    """Place the claimants of earlier cycles on what is held for them, before any action.

    A job whose gang is complete is bound. Others stay pipelined, so that nothing else is placed
    there and nothing more is evicted for them.
    """
    reservations = session.evictions.reservations
    if reservations is None:
        return
    for reservation in reservations.earlier():
        job = session.jobs.get(reservation.job)
        tasks = _matching_tasks(session, job, reservation) if job is not None else []
        if job is None or not tasks:
            if job is None or not _has_task(job, reservation, _LEAVING):
                reservations.drop(reservation.job)
            continue
        if any(task.uid != one.uid for task, one in tasks):
            reservations.take_over(reservation, (_reserved(task, one.node) for task, one in tasks))
        problem = _claim(session, job, tasks, reservation)
        if problem == _INCOMPLETE:
            reservations.drop(job.uid)
        elif problem:
            reservations.drop(job.uid)
            logger.info("reservation of {} ends: {}", job.uid, problem)
            text = f"what was freed for it is no longer held: {problem}"
            job.refusals.append(Refusal("ReservationEnded", text))
            if session.evictions.history is not None:
                session.evictions.history.reservation_failed(job.uid)


def _claim(
    session: Session, job: Job, tasks: list[tuple[Task, ReservedTask]], reservation: Reservation
) -> str:
    """Place the tasks of a reservation; why it ends otherwise.

    The fault of a plugin does not end it: the next cycle tries again, until the deadline.
    """
    if session.now > reservation.deadline:
        return "it has taken too long"
    problem, was_idle = "", not job.allocated_count
    with session.turn(job), session.statement() as statement:
        problem = _place(session, statement, tasks)
        if problem:
            return problem
        if _may_start(session, job):
            if was_idle:
                job.last_start = session.now
            statement.commit()
        elif is_broken(job) and not _has_task(job, reservation, _LEAVING):
            problem = _INCOMPLETE
        elif statement.pipeline_allocated(job) is None:
            statement.keep()
        else:
            problem = "a plugin objects"
    return problem


def _matching_tasks(
    session: Session, job: Job, reservation: Reservation
) -> list[tuple[Task, ReservedTask]]:
    """The tasks of a reservation that are pending, or still leave another node.

    A new pod stands in for one that was replaced, and for one that leaves if it came after that
    was decided.
    """
    decided = int(reservation.deadline - session.policy.evictions.reservation)
    pending = {t.uid: t for t in job.by_status[_S.PENDING].values() if not t.gated}
    matched = []
    missing: list[tuple[ReservedTask, Task | None]] = []
    for one in reservation.tasks:
        task = pending.pop(one.uid, None)
        if task is not None:
            matched.append((task, one))
            continue
        old = job.tasks.get(one.uid)
        if old is None or (old.status is _S.RELEASING and old.node != one.node):
            missing.append((one, old))
    for one, old in missing:
        for task in pending.values():
            if task.role == one.role and (old is None or task.pod.created >= decided):
                matched.append((pending.pop(task.uid), one))
                break
        else:
            if old is not None:
                matched.append((old, one))
    return matched


def _place(session: Session, statement: Statement, tasks: list[tuple[Task, ReservedTask]]) -> str:
    """Place tasks where resources are held for them; the first problem, or nothing.

    It is no problem yet if the place is refused to a task that still leaves its old node.
    """
    for task, one in tasks:
        row = session.nodes.row_of.get(one.node)
        if row is None:
            return f"node {one.node} is gone"
        leaves = task.status is _S.RELEASING
        problem, fits_now = objection_to(session, task, row), not leaves
        if problem is not None:
            fits_now = False
            with session.evictions.leaving.gone():
                problem = objection_to(session, task, row)
        if problem is None:
            groups = groups_on(session, task, row)
            if fits_now and fits(session, task, row, idle=True):
                problem = statement.allocate(task, row, groups=groups, verified=True)
            else:
                problem = statement.pipeline(
                    task, row, eviction_occurred=not leaves, groups=groups, verified=True
                )
        if problem is not None and not leaves:
            return f"node {one.node}: {problem}"
    return ""


def _may_start(session: Session, job: Job) -> bool:
    """Whether the gang is complete without pipelined tasks."""
    if not session.ask.job_ready(job):
        return False
    return job.sub_group_root is None or all(
        p.allocated_count + p.count(_S.SUCCEEDED) >= p.min_available for p in job.sub_jobs.values()
    )
