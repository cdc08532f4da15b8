"""Preempt jobs of lower priority inside a queue, by simulated plans."""

from __future__ import annotations

from collections.abc import Callable

from pydantic import Field

from pumice import Job, Plan, Session
from pumice.gang import active_count
from pumice.solver import GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import SolverAction, SolverOptions
from pumice_builtin_actions.solver_jobs import VictimQueues


class SolvePreempt(SolverAction):
    """Preempt within a queue: victims have strictly lower priority and are preemptible."""

    class Options(SolverOptions):
        surplus: bool = Field(
            True,
            alias="preemptForSurplus",
            description="Whether a job that has its minimum preempts for further tasks.",
        )

    victim_text = "running preemptible job of lower priority in its queue"

    def may_take_from(self, job: Job, victim: Job) -> bool:
        return victim.queue == job.queue and victim.priority < job.priority

    def takes(self, job: Job) -> bool:
        return self.options.surplus or any(
            active_count(part) < part.min_available for part in job.sub_jobs.values()
        )

    def victims(self, session: Session, queues: VictimQueues, claimant: Job) -> QueueTree:
        may_lose = session.ask.preempt_victim_filter
        return queues.make(
            lambda queue: queue == claimant.queue,
            lambda job: job.priority < claimant.priority and may_lose(claimant, job),
        )

    def validator(self, session: Session) -> Callable[[Plan], bool]:
        return session.ask.preempt_scenario_validator

    def may_succeed(self, session: Session, job: Job, placer: GangPlacer) -> bool:
        batch = placer.batches.to_allocate(job, real=True)
        return session.ask.is_non_preemptible_job_over_queue_quota(job, batch) is None
