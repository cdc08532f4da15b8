"""Make room for higher priority inside a queue, by proven plans."""

from __future__ import annotations

from pumice import Action
from pumice.model.job import Job
from pumice.session.queue_tree import QueueTree
from pumice.session.session import Session
from pumice.session.whole_jobs import WholeJobs
from pumice.solver import FailedJobs, Solver
from pumice_builtin_actions._fair import (
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

        placer = WholeJobs(session)
        solver = Solver(
            session,
            placer,
            victims=victims,
            validator=ask.preempt_scenario_validator,
            budget=self.options.budget,
            ghosts=self.options.ghosts,
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
                chunk = placer.chunks.to_allocate(job, real=True)
                refusal = ask.is_non_preemptible_job_over_queue_quota(job, chunk)
                if refusal is not None or not attempt(session, solver, job):
                    table.failed(job)
