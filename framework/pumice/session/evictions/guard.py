"""Decides whether the evictions of a statement may be carried out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import repeat
from typing import TYPE_CHECKING

from pumice.model.facts import EvictionLog
from pumice.model.job import Job
from pumice.model.task import PREEMPTABLE_STATUSES, Task, TaskStatus
from pumice.session.evictions.history import EvictionHistory
from pumice.session.evictions.leaving import LeavingPods
from pumice.session.evictions.minimal import spare_needless_victims
from pumice.session.evictions.overdue import hold_overdue
from pumice.session.evictions.plan import EvictionPlan
from pumice.session.evictions.reservations import Reservations
from pumice.verdicts import EvictionContext, EvictionKind

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.session.statement import Statement

_NO_CLAIMANT, _PREEMPT, _RECLAIM = (
    EvictionKind.NO_CLAIMANT,
    EvictionKind.TASK_PREEMPT,
    EvictionKind.TASK_RECLAIM,
)
_PIPELINED = TaskStatus.PIPELINED
_SERVED = "tasks are evicted for it in this cycle already"
_NOT_TAKEN = "the nodes would not take the job after the evictions"


class EvictionGuard:
    """The promises of ``[evictions]``, asked when a statement is committed.

    Actions that ask :meth:`evictable` while they look for victims find plans that pass.
    """

    def __init__(self, session: Session, log: EvictionLog) -> None:
        settings = session.policy.evictions
        self._session = session
        self.settings = settings
        """The settings of ``[evictions]``."""
        self._asks = session.ask.has("protected")
        self._served: set[str] = set()
        """Jobs that tasks are evicted for in this cycle: a second plan for one of them might make
        victims of the first needless."""
        self._context: EvictionContext | None = None
        """The context of the last question before there was a plan."""
        overdue = hold_overdue(session)
        self.leaving = LeavingPods(session)
        """Pods that were terminating when the cycle began."""
        self.history = EvictionHistory(session, log, overdue) if settings.monotone else None
        """Past evictions; None: not remembered."""
        self.reservations = Reservations(session, log) if settings.reserved else None
        """What is held for claimants; None: nothing is."""
        self.active = self._asks or any(
            (settings.atomic, settings.minimal, settings.reserved, settings.monotone)
        )
        """Whether evictions are checked at all."""

    # -- while an action looks for victims

    def evictable(self, claimant: Job, tasks: Sequence[Task]) -> Sequence[Task]:
        """The tasks that may be evicted for a job, as far as can be said before there is a plan."""
        if not self.active:
            return tasks
        objections = self._objections(claimant, tasks)
        return [task for task, text in zip(tasks, objections, strict=True) if text is None]

    def objection(self, claimant: Job, task: Task, *, moves: bool = False) -> str | None:
        """Why a task may not be evicted for a job; None: there is no reason so far.

        ``moves``: only plans that have another place for it count.
        """
        return next(self._objections(claimant, [task], moves=moves))

    def _objections(
        self, claimant: Job, tasks: Sequence[Task], *, moves: bool = False
    ) -> Iterator[str | None]:
        """For each task :meth:`objection`; what is about the claimant is asked once for all."""
        settings, history, context = self.settings, self.history, self._context
        if settings.minimal and claimant.uid in self._served:
            yield from repeat(_SERVED, len(tasks))
            return
        failed = None if history is None else history.failure(claimant)
        settled, asks, protected = settings.monotone, self._asks, self._session.ask.protected
        for task in tasks:
            if settled and task.status not in PREEMPTABLE_STATUSES:
                yield f"{task.key} was placed in this cycle"
                continue
            if history is not None and task.job is not None:
                reversed_ = failed or history.reversal(claimant, task.job)
                if reversed_ is not None:
                    yield reversed_
                    continue
            if not asks:
                yield None
                continue
            kind = EvictionKind.MOVE if moves else _kind(claimant, task)
            if context is None or context.job is not claimant or context.kind is not kind:
                context = self._context = EvictionContext(kind, claimant)
            reason = protected(task, context)
            yield None if reason is None else _protection(task, reason)

    def after_releases(self) -> AbstractContextManager[None]:
        """For the filters the terminating pods have gone: a plan is for then.

        Nothing happens without ``atomic``. Tasks may only be pipelined meanwhile.
        """
        return self.leaving.gone() if self.settings.atomic else nullcontext()

    def outlasts_releases(self, job: Job) -> bool:
        """Whether the pipelined tasks of a job can come once the terminating pods have gone.

        A task may have to run beside one of them, or be spread over the nodes with them.
        """
        if not self.settings.atomic:
            return True
        waiting = [
            task
            for task in job.by_status[_PIPELINED].values()
            if task.pod.affinity or task.pod.topology_spread
        ]
        return not waiting or not self.leaving or all(map(self.leaving.outlasts, waiting))

    def is_reserved(self, task: Task) -> bool:
        """Whether the place of a task is held for it, so that no action takes it away."""
        return self.reservations is not None and self.reservations.includes(task)

    # -- when a statement is committed

    def admit(self, statement: Statement) -> str | None:
        """Why the statement may not be carried out; None: it may, perhaps with fewer victims."""
        plan = EvictionPlan(self._session, statement)
        if not plan.victims:
            # All victims of a simulation got their nodes back.
            untried = self.settings.atomic and statement._cancels
            return _NOT_TAKEN if untried and not plan.remake() else None
        objection = self._prove(plan)
        if objection is not None:
            return objection
        self._served.update(job.uid for job in plan.claimants)
        if self.history is not None:
            for victim in plan.victims:
                if victim.claimant is not None and victim.task.job is not None:
                    self.history.record(victim.claimant, victim.task.job)
        if self.reservations is not None:
            self.reservations.add(plan.placements)
        return None

    def _prove(self, plan: EvictionPlan) -> str | None:
        settings = self.settings
        if settings.minimal and any(job.uid in self._served for job in plan.claimants):
            return _SERVED
        if settings.monotone:
            for victim in plan.victims:
                if victim.previous_status not in PREEMPTABLE_STATUSES:
                    return f"{victim.task.key} was placed in this cycle"
        if plan.claimants:
            if settings.atomic:
                if not plan.places_all_claimants():
                    return "evictions without a place for the job that they are for"
                if not plan.complete_gangs():
                    return "a gang would be left below its minimum"
                if not plan.completes_claimants():
                    return "the evictions would not complete the gang that they are for"
                if not plan.verified and not plan.remake():
                    return _NOT_TAKEN
            if settings.minimal:
                spare_needless_victims(self._session, plan)
            if plan.damaged:
                return "a plugin objects to what the plan had before"
        elif settings.atomic and any(plan.breaks(job) for job in plan.victim_jobs):
            return "a gang would be left below its minimum"
        return self._reversal(plan) or self._protections(plan)

    def _reversal(self, plan: EvictionPlan) -> str | None:
        history = self.history
        if history is None:
            return None
        for victim in plan.victims:
            claimant, job = victim.claimant, victim.task.job
            if claimant is not None and job is not None:
                text = history.failure(claimant) or history.reversal(claimant, job)
                if text is not None:
                    return text
        return None

    def _protections(self, plan: EvictionPlan) -> str | None:
        if not self._asks:
            return None
        context: EvictionContext | None = None
        for victim in plan.victims:
            kind = _kind(victim.claimant, victim.task)
            if victim.task.uid in plan.moved and kind is not _NO_CLAIMANT:
                kind = EvictionKind.MOVE
            if context is None or context.job is not victim.claimant or context.kind is not kind:
                context = EvictionContext(kind, victim.claimant, victims=plan.tasks)
            reason = self._session.ask.protected(victim.task, context)
            if reason is not None:
                return _protection(victim.task, reason)
        return None

    # -- at the end of the cycle

    def log(self) -> EvictionLog:
        """What later cycles need to know."""
        history, reservations = self.history, self.reservations
        return EvictionLog(
            {} if reservations is None else dict(reservations.standing()),
            () if history is None else tuple(history.past),
            {} if history is None else dict(history.failed),
        )


def _protection(task: Task, reason: str) -> str:
    return f"{task.key} is protected: {reason}"


def _kind(claimant: Job | None, task: Task) -> EvictionKind:
    if claimant is None:
        return _NO_CLAIMANT
    job = task.job
    return _PREEMPT if job is not None and job.queue == claimant.queue else _RECLAIM
