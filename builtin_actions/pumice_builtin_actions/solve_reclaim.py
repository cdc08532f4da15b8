"""Take room from other queues for jobs whose queue is entitled to it, by proven plans."""

from __future__ import annotations

from pydantic import Field

from pumice import Action, Job, Session, Solver
from pumice.solver import FailedJobs, GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import (
    SolverOptions,
    VictimQueues,
    attempt,
    may_evict,
    waiting_jobs,
)


class SolveReclaim(Action):
    """Reclaim across queues: simulate, validate, then evict; moved victims keep running.

    Job priority plays no role between queues. Without a plugin that answers
    ``can_reclaim_resources`` nothing is reclaimed.
    """

    evicts = True
    needs = ("can_reclaim_resources",)

    class Options(SolverOptions):
        allow_consolidating: bool = Field(
            True,
            alias="allowConsolidatingReclaim",
            description="A victim that finds another place does not count as taken.",
        )

    def execute(self, session: Session) -> None:
        ask, queues = session.ask, VictimQueues(session)

        def victims(claimant: Job) -> QueueTree:
            return queues.make(
                lambda queue: queue != claimant.queue,
                lambda job: ask.reclaim_victim_filter(claimant, job),
            )

        solver = Solver(
            session,
            GangPlacer(session),
            victims=victims,
            validator=ask.reclaim_scenario_validator,
            allow_consolidating=self.options.allow_consolidating,
            budget=self.options.budget,
            stale_releases=self.options.stale_releases,
        )
        failed: dict[str, FailedJobs] = {}
        jobs = QueueTree(
            session,
            waiting_jobs(session, may_evict),
            depth=self.options.queue_depth,
            evicting=True,
        )
        while jobs:
            job = jobs.pop()
            table = failed.setdefault(job.queue, FailedJobs(enabled=self.options.signatures))
            with session.turn(job):
                if not ask.can_reclaim_resources(job) or not table.worth_trying(job):
                    continue
                ask.on_job_solution_start()
                if not attempt(session, solver, job):
                    table.failed(job)
