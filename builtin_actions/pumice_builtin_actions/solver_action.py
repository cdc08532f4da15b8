"""Base of the actions that evict by simulated plans: solve_reclaim, solve_preempt, consolidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from pumice import Action, Job, LostVictims, Plan, Refusal, Session, Solver
from pumice.gpu import fits_empty_cluster, idle_gpus, releasing_gpus
from pumice.solver import FailedJobs, GangPlacer, Prospects, QueueDepthOptions, QueueTree
from pumice_builtin_actions.solver_jobs import VictimQueues, may_evict, waiting_jobs


class SolverOptions(QueueDepthOptions):
    """Options of the actions that search for victims."""

    signatures: bool = Field(
        True,
        alias="useSchedulingSignatures",
        description="Skip jobs like one that failed, unless they request less.",
    )
    stale_releases: bool = Field(
        False,
        alias="upstreamStaleReleases",
        description="Copy KAI's flaw of counting a victim that a dropped trial moved between"
        " GPUs of its node as leaving.",
    )
    bystanders: bool = Field(
        False,
        alias="upstreamBystanders",
        description="Copy KAI's flaw that pending jobs which are not part of a plan decide in which"
        " order its claimant and victims are placed.",
    )
    ignores_preemption_policy: bool = Field(
        False,
        alias="upstreamPreemptionPolicy",
        description="Copy KAI, which evicts for its own jobs even if their pods have"
        " preemptionPolicy Never.",
    )
    budget: int = Field(
        0,
        alias="maxSimulations",
        ge=0,
        description="Most simulations for one job; 0 is no limit.",
    )


class SolverAction(Action):
    """Goes through the waiting jobs in queue order and lets the solver search for each.

    A plan that the solver finds is carried out at once. A subclass states which jobs may take
    part, who their victims are and what a plan must satisfy.
    """

    evicts = True
    needs_pending = True
    reads_fit_errors = False
    only_moves: ClassVar[bool] = False
    """Whether the validator refuses every plan that leaves a victim without a node."""
    failures_by_queue: ClassVar[bool] = True
    """Whether a job that failed stands only for like jobs of its own queue."""

    class Options(SolverOptions):
        pass

    victim_text: ClassVar[str] = "running preemptible job"
    """Which victims the action looks for, for messages."""

    # -- what a subclass states

    def may_take_from(self, job: Job, victim: Job) -> bool:
        """Whether the action looks at this job for victims, whatever the plugins say."""
        return victim is not job

    def victims(self, session: Session, queues: VictimQueues, claimant: Job) -> QueueTree:
        """The jobs that may lose tasks to the claimant, the first to evict first."""
        raise NotImplementedError

    def validator(self, session: Session) -> Callable[[Plan], bool]:
        """Who decides whether a simulated plan may be carried out."""
        raise NotImplementedError

    def refuses(self, session: Session) -> Callable[[Job, Sequence[LostVictims]], bool] | None:
        """Who knows that a plan will be refused for the victims that it loses; None: nobody."""
        return None

    def refuses_larger(self, session: Session) -> Callable[[Plan], bool] | None:
        """Who knows that a plan, and every larger one, will be refused; None: nobody."""
        return None

    def takes(self, job: Job) -> bool:
        """Whether the action looks at this job at all."""
        return True

    def is_entitled(self, session: Session, job: Job) -> bool:
        """Whether to search for the job at all; False does not count as a failure."""
        return True

    def may_succeed(self, session: Session, job: Job, placer: GangPlacer) -> bool:
        """A cheap necessary condition, asked right before the search; False is a failure."""
        return True

    # -- the loop

    def execute(self, session: Session) -> None:
        with session.evictions.after_releases():
            self._serve_all(session)

    def _serve_all(self, session: Session) -> None:
        options, placer = self.options, GangPlacer(session)
        queues = VictimQueues(session)
        solver = Solver(
            session,
            placer,
            victims=lambda claimant: self.victims(session, queues, claimant),
            validator=self.validator(session),
            allow_consolidating=self.allow_consolidating,
            only_moves=self.only_moves,
            refuses=self.refuses(session),
            refuses_larger=self.refuses_larger(session),
            budget=options.budget,
            stale_releases=options.stale_releases,
            bystanders=options.bystanders,
        )
        failed: dict[str, FailedJobs] = {}
        waiting = waiting_jobs(session, lambda job: self._takes(session, job))
        jobs = QueueTree(session, waiting, depth=options.queue_depth, evicting=True)
        prospects = Prospects(session, jobs, gives_lost=session.records_reasons)

        def serve(job: Job) -> None:
            scope = job.queue if self.failures_by_queue else ""
            failures = failed.setdefault(scope, FailedJobs(enabled=options.signatures))
            kind = prospects.kind(job)
            if not self.is_entitled(session, job):
                session.note(job, "NotEntitled", f"queue {job.queue} may not take more for it")
                prospects.lose(job, for_now=True)
            elif not failures.worth_trying(job, kind):
                text = "a job that asks for the same, or less, has just failed"
                session.note(job, "NoMoves" if self.only_moves else "LikeFailed", text)
                prospects.lose(job)
            else:
                solver.considered = 0
                if not self.may_succeed(session, job, placer) or not _search(session, solver, job):
                    failures.failed(job)
                    self._note_failure(session, solver, job, queues)

        for job in prospects:
            with session.turn(job):
                serve(job)

    def _takes(self, session: Session, job: Job) -> bool:
        if not self.takes(job):
            return False
        heeds = job.heeds_preemption_policy or not self.options.ignores_preemption_policy
        if heeds and not may_evict(job):
            session.note(job, "PreemptionNever", "its pods have preemptionPolicy Never")
            return False
        return True

    def _note_failure(
        self, session: Session, solver: Solver, job: Job, queues: VictimQueues
    ) -> None:
        if self.only_moves:
            session.note(job, "NoMoves", "moving running tasks does not make room for it")
        elif solver.considered or _is_over_quota(session, solver, job):
            text = "no combination of the victims that are allowed makes room for it and is allowed"
            session.note(job, "NoPlan", text)
        elif queues.has(lambda victim: self.may_take_from(job, victim)):
            session.note(job, "VictimsProtected", "the plugins allow no victim")
        else:
            session.note(job, "NoVictims", f"there is no {self.victim_text}")

    @property
    def allow_consolidating(self) -> bool:
        """Whether a victim that finds another node counts as unharmed."""
        return True


def _search(session: Session, solver: Solver, job: Job) -> bool:
    """Search for a plan and carry it out; whether there was one."""
    too_large = not fits_empty_cluster(session.nodes, solver.batch(job))
    hopeless = too_large or _is_over_quota(session, solver, job)
    statement = None
    if not hopeless or not _refuses_early(session, solver):
        statement = solver.solve(job, _feasible_rows(session, job))
    if statement is not None:
        return statement.commit()
    if too_large:
        text = "its GPUs would not fit on the nodes even if they were empty"
        job.refusals.append(Refusal("TooLarge", text))
    elif solver.exhausted:
        text = f"{session.current_action} gave up after its budget of simulations for this job"
        job.refusals.append(Refusal("SearchBudgetSpent", text))
    return False


def _is_over_quota(session: Session, solver: Solver, job: Job) -> bool:
    """Whether no victim helps the job: what jobs hold that cannot be preempted is at the quota."""
    return session.ask.is_non_preemptible_job_over_queue_quota(job, solver.batch(job)) is not None


def _refuses_early(session: Session, solver: Solver) -> bool:
    """Whether no search is made for a job that no choice of victims helps.

    Where GPUs are shared, KAI's accounting may show more free GPUs than there are, and its search
    may find a plan that cannot work; with stale releases we do the same.
    """
    return not solver.leaves_stale_releases if solver.shares_gpus else session.uses("solver_search")


def _feasible_rows(session: Session, job: Job) -> np.ndarray:
    """The nodes on which the job might be placed without an eviction."""
    nodes = session.nodes
    if any(not task.gpu.any for task in job.tasks.values()):
        return nodes.all_rows
    return np.flatnonzero((idle_gpus(nodes) > 0) | (releasing_gpus(nodes) > 0))
