"""Preempt jobs of lower priority inside a queue, by simulated plans."""

from __future__ import annotations

from collections.abc import Callable

from pumice import Job, Plan, Session
from pumice.solver import GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import SolverAction
from pumice_builtin_actions.solver_jobs import VictimQueues


class SolvePreempt(SolverAction):
    """Preempt within a queue: victims have strictly lower priority and are preemptible."""

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
