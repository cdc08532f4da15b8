"""Make room for higher priority inside a queue, by proven plans."""

from __future__ import annotations

from pumice import Action, Job, Session, Solver
from pumice.solver import FailedJobs, GangPlacer, QueueTree
from pumice_builtin_actions.solver_action import (
    SolverOptions,
    VictimQueues,
    attempt,
    may_evict,
    waiting_jobs,
)


class SolvePreempt(Action):
    """Preempt within a queue: victims have strictly lower priority and are preemptible."""

    evicts = True

    class Options(SolverOptions):
        pass

    def execute(self, session: Session) -> None:
        ask, queues = session.ask, VictimQueues(session)

        def victims(claimant: Job) -> QueueTree:
            return queues.make(
                lambda queue: queue == claimant.queue,
                lambda job: (
                    job.priority < claimant.priority and ask.preempt_victim_filter(claimant, job)
                ),
            )

        placer = GangPlacer(session)
        solver = Solver(
            session,
            placer,
            victims=victims,
            validator=ask.preempt_scenario_validator,
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
                if not table.worth_trying(job):
                    continue
                batch = placer.batches.to_allocate(job, real=True)
                refusal = ask.is_non_preemptible_job_over_queue_quota(job, batch)
                if refusal is not None or not attempt(session, solver, job):
                    table.failed(job)
