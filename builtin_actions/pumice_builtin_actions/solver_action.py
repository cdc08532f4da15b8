"""What the actions of the KAI family share: options, and which jobs and nodes to look at."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from pydantic import Field

from pumice import Action, Job, Refusal, Session, Solver, TaskStatus
from pumice.gang import active_count, has_pending, is_ready_to_schedule
from pumice.gpu import fits_empty_cluster, idle_gpus, releasing_gpus
from pumice.solver import QueueTree, RankedJobs

_ALIVE = (
    TaskStatus.ALLOCATED,
    TaskStatus.PIPELINED,
    TaskStatus.BINDING,
    TaskStatus.BOUND,
    TaskStatus.RUNNING,
    TaskStatus.PENDING,
)


class DepthOptions(Action.Options):
    """Options of actions that walk the queue tree."""

    queue_depth: int | None = Field(
        None,
        alias="queueDepth",
        ge=1,
        description="Most jobs of a leaf queue to consider; unlimited when absent.",
    )


class SolverOptions(DepthOptions):
    """Options of actions that search for victims."""

    signatures: bool = Field(
        True,
        alias="useSchedulingSignatures",
        description="Skip look-alikes of jobs that failed, unless they ask less.",
    )
    stale_releases: bool = Field(
        False,
        alias="upstreamGhosts",
        description="Copy KAI's flaw of counting a victim that a dropped trial moved between"
        " GPUs of its node as leaving.",
    )
    budget: int = Field(
        0,
        alias="maxSimulations",
        ge=0,
        description="Most simulations for one job; 0 is no limit.",
    )


def waiting_jobs(session: Session, keep: Callable[[Job], bool] = lambda job: True) -> list[Job]:
    """Jobs with something to place and enough tasks to do so, let in where that is asked."""
    gated = session.runs("enqueue") or session.ask.has("job_valid")
    found = []
    for job in session.jobs.values():
        if not has_pending(job) or not is_ready_to_schedule(job) or not keep(job):
            continue
        if job.has_network_topology and not session.hyper_nodes.ready:
            continue
        if not gated:
            found.append(job)
            continue
        with session.turn(job):
            if _is_let_in(session, job):
                found.append(job)
    return found


def _is_let_in(session: Session, job: Job) -> bool:
    if job.is_pending and session.runs("enqueue"):
        return False
    return session.ask.job_valid(job) is None


def may_evict(job: Job) -> bool:
    """Whether others may be evicted for the job; KAI has no such mark of pods."""
    return job.family == "kai" or all(
        task.pod.preemption_policy != "Never" for task in job.by_status[TaskStatus.PENDING].values()
    )


class VictimQueues:
    """Makes queues of running jobs that may lose tasks, the worst off first to go."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @cached_property
    def _holding(self) -> RankedJobs:
        """Ranked when first asked: mostly nobody has to be searched for."""
        return RankedJobs(self._session, _may_lose)

    def make(self, of_queue: Callable[[str], bool], keep: Callable[[Job], bool]) -> QueueTree:
        """A fresh queue of the jobs of some queues that ``keep`` accepts.

        ``keep`` is asked when a job's turn comes.
        """
        session = self._session
        if not session.order.has_job_keys or not session.uses("ranked"):
            return self.make_at_once(lambda job: of_queue(job.queue) and keep(job))
        entries = self._holding.refresh()
        return QueueTree.ranked(
            session,
            {name: ranked for name, ranked in entries.items() if of_queue(name)},
            lambda job: keep(job) and _is_alive(session, job),
            victims=True,
        )

    def make_at_once(self, keep: Callable[[Job], bool]) -> QueueTree:
        """As :meth:`make`; ``keep`` is asked about all jobs now, in the order of their names."""
        session = self._session
        candidates = [
            job
            for job in session.jobs.values()
            if _may_lose(job) and _is_alive(session, job) and keep(job)
        ]
        return QueueTree(session, candidates, victims=True)


def _may_lose(job: Job) -> bool:
    return job.preemptible and not job.spared and active_count(job) > 0


def _is_alive(session: Session, job: Job) -> bool:
    """Whether a task of the job could run, or runs on a node of the session."""
    row_of = session.nodes.row_of
    return any(
        not task.node or task.node in row_of
        for status in _ALIVE
        for task in job.by_status[status].values()
    )


def feasible_rows(session: Session, job: Job) -> np.ndarray:
    """Nodes on which the job could find room without an eviction."""
    nodes = session.nodes
    if any(not task.gpu.any for task in job.tasks.values()):
        return nodes.all_rows
    return np.flatnonzero((idle_gpus(nodes) > 0) | (releasing_gpus(nodes) > 0))


def _refuses_early(session: Session, solver: Solver) -> bool:
    """Whether no search is made for a job that cannot fit.

    Where devices are shared, the books may promise more than there is: a search could find a plan
    that is none, as KAI's does.
    """
    return not solver.leaves_stale_releases if solver.shares_gpus else session.uses("refusal")


def attempt(session: Session, solver: Solver, job: Job) -> bool:
    """Search for the job and carry the plan out; tells whether there was one."""
    hopeless = not fits_empty_cluster(session.nodes, solver.batch(job))
    statement = None
    if not hopeless or not _refuses_early(session, solver):
        statement = solver.solve(job, feasible_rows(session, job))
    if statement is not None:
        statement.commit()
        return True
    if hopeless:
        job.refusals.append(
            Refusal(
                "TooLarge", "its GPUs would not fit on the nodes even if nobody else were there"
            )
        )
    elif solver.exhausted:
        job.refusals.append(
            Refusal(
                "SearchBudgetSpent",
                f"{session.current_action} gave up after its budget of simulations for this job",
            )
        )
    return False
