"""Promise a whole gang its nodes, on room that evictions are about to free."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import Job, Session, Statement, Task
from pumice_builtin_actions.greedy.eviction import CurableNodes
from pumice_builtin_actions.greedy.pending_work import PendingSubJob


class Nomination:
    """Places the pending tasks of a job as a gang inside one domain of nodes, or not at all."""

    def __init__(self, session: Session, *, error_cache: bool) -> None:
        self._session = session
        self._error_cache = error_cache

    def make(
        self, statement: Statement, job: Job, works: Sequence[PendingSubJob], domain: str
    ) -> dict[str, str] | None:
        """Promise room to the sub-jobs in order, once the statement has evicted for them.

        Answers the hypernode of each sub-job that was placed; None, and nothing promised, when
        the job's minimum cannot be promised this way.
        """
        ask = self._session.ask
        mark = statement.checkpoint()
        was_ready = ask.job_ready(job)
        nominated: dict[str, str] = {}
        for work in works:
            hyper_node = self._first_success(statement, work, domain)
            if hyper_node is None:
                break
            nominated[work.sub_job.uid] = hyper_node
            if ask.job_pipelined(job):
                return nominated
            if was_ready:
                break
        statement.rollback(mark)
        return None

    def _first_success(self, statement: Statement, work: PendingSubJob, domain: str) -> str | None:
        for hyper_node in self._hyper_nodes(work, domain):
            mark = statement.checkpoint()
            if self._place(statement, work, hyper_node):
                return hyper_node
            statement.rollback(mark)
        return None

    def _hyper_nodes(self, work: PendingSubJob, domain: str) -> list[str]:
        ask, sub_job = self._session.ask, work.sub_job
        if not sub_job.job.has_hard_topology or not ask.has("hyper_node_gradient_for_sub_job"):
            return [domain]
        gradients = ask.hyper_node_gradient_for_sub_job(sub_job, domain, "evict")
        return [name for gradient in gradients or () for name in gradient]

    def _place(self, statement: Statement, work: PendingSubJob, hyper_node: str) -> bool:
        session, sub_job = self._session, work.sub_job
        queue = session.queue_of(sub_job.job)
        nodes = CurableNodes(session, remember=self._error_cache)
        rows = session.rows_of(hyper_node)
        for task in reversed(work.tasks):
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
        """The best node with idle room, else the best whose room is being freed."""
        queries = self._session.queries
        promised = queries.fits_future(task)
        for room in (promised & queries.fits_idle(task), promised):
            for group in groups:
                fitting = group[room[group]]
                if len(fitting):
                    return queries.pick(task, fitting)
        return None
