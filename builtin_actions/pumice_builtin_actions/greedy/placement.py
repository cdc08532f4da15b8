"""Place the pending tasks of one sub-job, one after another, inside one hypernode."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pumice import (
    ALLOCATED_STATUSES,
    ROOT,
    Choice,
    FitErrors,
    Refusal,
    Session,
    Statement,
    SubJob,
    Task,
)
from pumice.gang import counts_roles
from pumice_builtin_actions.greedy.pending_work import PendingSubJob


class Placement:
    """Greedy placement as Volcano does it: task by task until the sub-job is ready."""

    def __init__(self, session: Session, *, error_cache: bool) -> None:
        self._session = session
        self._error_cache = error_cache
        self._skips_role_cache = session.uses("victims")

    def place(self, statement: Statement, pending: PendingSubJob, hyper_node: str) -> bool:
        """Place the pending tasks until the sub-job is ready.

        Returns whether the statement is worth keeping: the sub-job is ready, or will be once the
        nodes that its tasks are pipelined to are free.
        """
        session, sub_job = self._session, pending.sub_job
        job, ask = sub_job.job, session.ask
        queue = session.queue_of(job)
        rows = session.rows_of(hyper_node)
        if rows is not None and not len(rows):
            return False
        has_topology = sub_job.network_topology is not None and bool(sub_job.network_topology.mode)
        hyper_node_so_far = sub_job.allocated_hyper_node
        failed_before: dict[str, np.ndarray] = {}
        while pending.tasks:
            task = pending.tasks.pop()
            if not ask.allocatable(queue, task):
                # Volcano drops the task for this cycle and tries the next one.
                job.refusals.append(
                    Refusal(
                        "QueueShare",
                        f"queue {queue.name} may not be allocated more of what the task requests",
                    )
                )
                continue
            if task.gated:
                continue
            if _same_role_failed(sub_job, task):
                job.fit_errors[task.uid] = FitErrors(
                    head=f"Task {task.name} with role spec {task.role} has already predicated "
                    "failed, skip"
                )
                continue
            error = session.queries.prepare(task)
            if error is not None:
                job.fit_errors[task.uid] = FitErrors.for_all(error, len(session.nodes))
                if worth_continuing(sub_job):
                    continue
                break
            if has_topology:
                task.job_hyper_node = hyper_node_so_far
            caches = self._caches_failures(task, pending)
            choice = self._choose(task, rows, failed_before if caches else None)
            if choice is None:
                job.fit_errors[task.uid] = self._errors(task, rows, hyper_node)
                if worth_continuing(sub_job):
                    continue
                break
            if choice.idle:
                objection = statement.allocate(task, choice.row)
            else:
                objection = statement.pipeline(task, choice.row)
            if objection is not None:
                continue
            if has_topology:
                lowest = session.hyper_nodes.lowest_of_node(task.node)
                hyper_node_so_far = session.hyper_nodes.lowest_common(hyper_node_so_far, lowest)
            if session.sub_job_ready(sub_job):
                return True
        return session.sub_job_ready(sub_job) or session.sub_job_pipelined(sub_job)

    def _caches_failures(self, task: Task, pending: PendingSubJob) -> bool:
        """Whether to exclude the nodes that failed for earlier tasks of the same role.

        Placing tasks only fills nodes, so the exclusion changes nothing for tasks with the same
        requirements whose filters look at one node at a time. It does, for example, for required
        pod affinity inside a gang: Volcano excludes the node all the same.
        """
        return (
            self._error_cache
            and bool(task.role)
            and (
                not self._skips_role_cache
                or task.role in pending.mixed_roles
                or self._session.queries.has_live_filters(task)
            )
        )

    def _choose(
        self, task: Task, rows: np.ndarray | None, failed_before: dict[str, np.ndarray] | None
    ) -> Choice | None:
        session = self._session
        nominated = session.nodes.row_of.get(task.nominated_node)
        if nominated is not None and (rows is None or nominated in rows):
            choice = self._choose_from(task, np.array([nominated]), failed_before)
            if choice is not None:
                return choice
        return self._choose_from(task, rows, failed_before)

    def _choose_from(
        self, task: Task, rows: np.ndarray | None, failed_before: dict[str, np.ndarray] | None
    ) -> Choice | None:
        queries = self._session.queries
        exclude = None
        if failed_before is not None:
            exclude = failed_before.get(task.role)
            failed = ~queries.feasible(task, rows)
            if rows is not None:
                inside = np.zeros(len(failed), bool)
                inside[rows] = True
                failed &= inside
            failed_before[task.role] = failed if exclude is None else failed | exclude
        groups = self._session.shard.split(rows)
        choices = [queries.best(task, group, exclude=exclude) for group in groups]
        for choice in choices:
            if choice is not None and choice.idle:
                return choice
        return next((choice for choice in choices if choice is not None), None)

    def _errors(self, task: Task, rows: np.ndarray | None, hyper_node: str) -> FitErrors:
        session = self._session
        name = "" if hyper_node == ROOT else hyper_node
        errors = session.queries.fit_errors(task, rows, hyper_node=name)
        if session.shard.mode == "hard" and errors.verdicts is not None:
            inside = session.shard.inside if rows is None else session.shard.inside[rows]
            errors = errors.overlaid(~inside, session.shard.fit_error)
        return errors


def _same_role_failed(sub_job: SubJob, task: Task) -> bool:
    """Whether a task of this sub-job with the same role has failed in this cycle."""
    failed = sub_job.job.fit_errors
    if not task.role or not failed:
        return False
    return any(uid in failed and other.role == task.role for uid, other in sub_job.tasks.items())


def worth_continuing(sub_job: SubJob) -> bool:
    """Whether the other tasks may still complete the job after one found no node."""
    job = sub_job.job
    if job.min_available == len(job.tasks) or sub_job.min_available >= len(sub_job.tasks):
        return False
    if job.has_sub_job_policy:
        return True
    tasks = sub_job.tasks
    failed_roles = {tasks[uid].role for uid in job.fit_errors if uid in tasks}
    if not counts_roles(job) and job.min_available < job.role_min_total:
        others = sum(1 for task in job.pending if task.role not in failed_roles)
        return job.ready_count + others >= job.min_available
    if not job.role_min:
        return True
    placed = Counter(task.role for task in job.having(*ALLOCATED_STATUSES))
    return not any(
        job.role_min.get(role, 0) and placed[role] < job.role_min[role] for role in failed_roles
    )
