"""Find hypernodes for a job with a hard topology or sub-jobs: try each on trial, take the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from pumice import ROOT, Job, Operation, Session, Statement, SubJob
from pumice_builtin_actions.greedy.pending_work import PendingSubJob, PendingWork
from pumice_builtin_actions.greedy.placement import Placement


class _Solution(NamedTuple):
    saved: list[Operation]
    remaining: PendingWork
    score: float
    hyper_node: str
    sub_job_hyper_nodes: dict[str, str]


class _SubSolution(NamedTuple):
    saved: list[Operation]
    remaining: PendingSubJob


class HypernodeSearch:
    """Finds the hypernode for a job, and below it those for its sub-jobs."""

    def __init__(self, session: Session, placement: Placement) -> None:
        self._session = session
        self._placement = placement

    def place_job(self, statement: Statement, job: Job, work: PendingWork) -> PendingWork | None:
        """Place the job on ``statement``; returns what is left to place, None if it failed."""
        session = self._session
        gradients = session.ask.hyper_node_gradient_for_job(job, ROOT, "allocate")
        if not session.ask.has("hyper_node_gradient_for_job"):
            gradients = [[ROOT]]
        for gradient in gradients or ():
            solutions = [
                solution
                for hyper_node in gradient
                if (solution := self._try_job(job, work, hyper_node)) is not None
            ]
            if not solutions:
                continue
            best = max(solutions, key=lambda solution: solution.score)
            if statement.recover(best.saved) is not None:
                return None
            job.state["hyper_nodes"] = (best.hyper_node, best.sub_job_hyper_nodes)
            return best.remaining
        return None

    def _try_job(self, job: Job, work: PendingWork, hyper_node: str) -> _Solution | None:
        session = self._session
        job.fit_errors.clear()
        before = {s.uid: s.allocated_hyper_node for s in job.sub_jobs.values()}
        remaining = work.copy()
        decided: dict[str, str] = {}
        score = 0.0
        with session.statement() as trial:
            while remaining.order:
                sub_job = remaining.order.pop()
                pending = remaining.by_sub_job[sub_job.uid]
                sub_job_score = self._place_sub_job(trial, sub_job, pending, hyper_node)
                if sub_job_score is None:
                    continue
                score += sub_job_score
                decided[sub_job.uid] = sub_job.allocated_hyper_node
                if pending.tasks:
                    remaining.order.push(sub_job)
                if session.ask.job_ready(job):
                    break
            saved = trial.save()
            solved = bool(saved) and (session.ask.job_ready(job) or session.ask.job_pipelined(job))
        for sub_job in job.sub_jobs.values():
            sub_job.allocated_hyper_node = before[sub_job.uid]
        return _Solution(saved, remaining, score, hyper_node, decided) if solved else None

    def _place_sub_job(
        self, statement: Statement, sub_job: SubJob, pending: PendingSubJob, hyper_node: str
    ) -> float | None:
        """Place one sub-job below the job's hypernode; returns its score, None if it failed."""
        session = self._session
        if sub_job.nominated_hyper_node and self.place_nominated(statement, pending):
            return 0.0
        gradients: Sequence[Sequence[str]] | None = [[hyper_node]]
        if session.ask.has("hyper_node_gradient_for_sub_job"):
            gradients = session.ask.hyper_node_gradient_for_sub_job(sub_job, hyper_node, "allocate")
        for gradient in gradients or ():
            solutions = {}
            for candidate in gradient:
                solution = self._try_sub_job(sub_job, pending, candidate)
                if solution is not None:
                    solutions[candidate] = solution
            if not solutions:
                continue
            scores = session.ask.hyper_node_order(
                sub_job, {name: session.nodes.view(session.rows_of(name)) for name in solutions}
            )
            best = max(solutions, key=lambda name: scores.get(name, 0.0))
            if statement.recover(solutions[best].saved) is not None:
                return None
            sub_job.allocated_hyper_node = session.hyper_nodes.lowest_common(
                sub_job.allocated_hyper_node, best
            )
            pending.tasks = solutions[best].remaining.tasks
            return scores.get(best, 0.0)
        return None

    def _try_sub_job(
        self, sub_job: SubJob, pending: PendingSubJob, hyper_node: str
    ) -> _SubSolution | None:
        job = sub_job.job
        for uid in sub_job.tasks:
            job.fit_errors.pop(uid, None)
        remaining = pending.copy()
        with self._session.statement() as trial:
            if self._placement.place(trial, remaining, hyper_node) and len(trial):
                return _SubSolution(trial.save(), remaining)
        return None

    def place_nominated(self, statement: Statement, pending: PendingSubJob) -> bool:
        """Place every task on the node nominated for it by a gang action, or none of them."""
        session, sub_job = self._session, pending.sub_job
        rows = session.rows_of(sub_job.nominated_hyper_node)
        inside = set(range(len(session.nodes)) if rows is None else rows.tolist())
        mark = statement.checkpoint()
        for task in reversed(pending.tasks):
            row = session.nodes.row_of.get(task.nominated_node, -1)
            if (
                row not in inside
                or not session.ask.allocatable(session.queue_of(sub_job.job), task)
                or session.queries.prepare(task) is not None
                or not session.queries.feasible(task)[row]
            ):
                break
            idle = bool(session.queries.fits_idle(task)[row])
            placed = statement.allocate(task, row) if idle else statement.pipeline(task, row)
            if placed is not None:
                break
        else:
            if inside and pending.tasks:
                pending.tasks = []
                return True
        statement.rollback(mark)
        sub_job.nominated_hyper_node = ""
        for task in pending.tasks:
            task.nominated_node = ""
        return False


def record_hyper_nodes(session: Session, job: Job) -> None:
    """After a commit: record the hypernodes of the job and of its sub-jobs."""
    hyper_node, sub_job_hyper_nodes = job.state.pop("hyper_nodes")
    tree = session.hyper_nodes
    job.allocated_hyper_node = tree.lowest_common(job.allocated_hyper_node, hyper_node)
    for uid, name in sub_job_hyper_nodes.items():
        sub_job = job.sub_jobs[uid]
        sub_job.allocated_hyper_node = tree.lowest_common(sub_job.allocated_hyper_node, name)
        sub_job.nominated_hyper_node = ""
