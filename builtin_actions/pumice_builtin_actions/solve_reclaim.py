"""Reclaim resources from other queues for a queue that is entitled to them, by simulated plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pydantic import Field

from pumice import Job, LostVictims, Plan, Session
from pumice.solver import GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import SolverAction, SolverOptions
from pumice_builtin_actions.solver_jobs import VictimQueues


class SolveReclaim(SolverAction):
    """Reclaim across queues: simulate, validate, then evict; moved victims keep running.

    Job priority plays no role between queues. Without a plugin that answers
    ``can_reclaim_resources`` nothing is reclaimed.
    """

    needs = ("can_reclaim_resources",)
    victim_text = "running preemptible job in another queue"

    class Options(SolverOptions):
        allow_consolidating: bool = Field(
            True,
            alias="allowConsolidatingReclaim",
            description="A victim that finds another place does not count as taken.",
        )

    @property
    def allow_consolidating(self) -> bool:
        allowed: bool = self.options.allow_consolidating
        return allowed

    def victims(self, session: Session, queues: VictimQueues, claimant: Job) -> QueueTree:
        may_lose = session.ask.reclaim_victim_filter
        return queues.make(
            lambda queue: queue != claimant.queue, lambda job: may_lose(claimant, job)
        )

    def may_take_from(self, job: Job, victim: Job) -> bool:
        return victim.queue != job.queue

    def validator(self, session: Session) -> Callable[[Plan], bool]:
        return session.ask.reclaim_scenario_validator

    def refuses(self, session: Session) -> Callable[[Job, Sequence[LostVictims]], bool]:
        return session.ask.refuses_reclaim

    def refuses_larger(self, session: Session) -> Callable[[Plan], bool] | None:
        return session.ask.refuses_larger_plans

    def is_entitled(self, session: Session, job: Job) -> bool:
        return bool(session.ask.can_reclaim_resources(job))

    def may_succeed(self, session: Session, job: Job, placer: GangPlacer) -> bool:
        session.ask.on_job_solution_start()
        return True
