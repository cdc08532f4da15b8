"""Nominate nodes for a whole gang, on what evictions are about to free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Job, Session, Statement, Task
from pumice_builtin_actions.greedy.eviction import ResolvableNodes
from pumice_builtin_actions.greedy.pending_work import PendingSubJob


class GangNomination:
    """Pipelines the pending tasks of a job inside one domain of nodes, all or nothing."""

    def __init__(self, session: Session, *, error_cache: bool) -> None:
        self._session = session
        self._error_cache = error_cache

    def nominate(
        self, statement: Statement, job: Job, sub_jobs: Sequence[PendingSubJob], domain: str
    ) -> dict[str, str] | None:
        """Pipeline the sub-jobs in order, once the statement has evicted for them.

        Returns the hypernode of each sub-job that was placed; None, with nothing left pipelined,
        when the job's minimum cannot be reached.
        """
        ask = self._session.ask
        mark = statement.checkpoint()
        was_ready = ask.job_ready(job)
        nominated: dict[str, str] = {}
        for pending in sub_jobs:
            hyper_node = self._first_success(statement, pending, domain)
            if hyper_node is None:
                break
            nominated[pending.sub_job.uid] = hyper_node
            if ask.job_pipelined(job):
                return nominated
            if was_ready:
                break
        statement.rollback(mark)
        return None

    def _first_success(
        self, statement: Statement, pending: PendingSubJob, domain: str
    ) -> str | None:
        # Volcano takes the first hypernode that works here, not the one with the best score.
        for hyper_node in self._hyper_nodes(pending, domain):
            mark = statement.checkpoint()
            if self._place(statement, pending, hyper_node):
                return hyper_node
            statement.rollback(mark)
        return None

    def _hyper_nodes(self, pending: PendingSubJob, domain: str) -> list[str]:
        ask, sub_job = self._session.ask, pending.sub_job
        if not sub_job.job.has_hard_topology or not ask.has("hyper_node_gradient_for_sub_job"):
            return [domain]
        gradients = ask.hyper_node_gradient_for_sub_job(sub_job, domain, "evict")
        return [name for gradient in gradients or () for name in gradient]

    def _place(self, statement: Statement, pending: PendingSubJob, hyper_node: str) -> bool:
        """Pipeline all pending tasks of a sub-job, not only its minimum, as Volcano does."""
        session, sub_job = self._session, pending.sub_job
        queue = session.queue_of(sub_job.job)
        nodes = ResolvableNodes(session, remember=self._error_cache)
        rows = session.rows_of(hyper_node)
        for task in reversed(pending.tasks):
            if (
                not session.ask.allocatable(queue, task)
                or session.queries.prepare(task) is not None
            ):
                return False
            row = self._choose(task, nodes.groups(task, rows))
            if row is None or statement.pipeline(task, row, eviction_occurred=True) is not None:
                return False
        return session.sub_job_ready(sub_job) or session.sub_job_pipelined(sub_job)

    def _choose(self, task: Task, groups: list[np.ndarray]) -> int | None:
        """The best node where the task fits idle resources, else the best by future idle."""
        queries = self._session.queries
        fits_future = queries.fits_future(task)
        for fits in (fits_future & queries.fits_idle(task), fits_future):
            for group in groups:
                fitting = group[fits[group]]
                if len(fitting):
                    return queries.pick(task, fitting)
        return None
