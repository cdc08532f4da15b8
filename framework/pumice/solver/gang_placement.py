"""Place the next chunk of a whole job: all its tasks or none, on one set of nodes after another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from pumice.fit_errors import FitErrors
from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.gpu.shares import WHOLE_GPU
from pumice.model.job import Job, SubJob
from pumice.model.task import Task
from pumice.model.topology import ROOT
from pumice.session.nodes.gpu_room import has_room, ranked_devices
from pumice.session.nodes.queries import PATIENCE
from pumice.session.statement import Statement
from pumice.solver.hypernodes import hyper_nodes_for, rows_within
from pumice.solver.task_batches import TaskBatches
from pumice.verdicts import FitError

if TYPE_CHECKING:
    from pumice.session.session import Session

_NO_SHARE = FitError.of("Insufficient room on shared GPUs")


class GangPlacer:
    """Places jobs chunk by chunk, for real or in a simulation.

    In a simulation (``promise``) tasks are only promised room, and victims of it are placed
    again like pending ones.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batches = TaskBatches(session.ask, session.order)
        self._prepares_order = session.ask.has("node_pre_order")
        self._patience = PATIENCE if session.uses("patience") else 0

    @property
    def batches(self) -> TaskBatches:
        """Which tasks of a job are placed together."""
        return self._batches

    def place(
        self, statement: Statement, job: Job, rows: np.ndarray | None, *, simulate: bool
    ) -> bool:
        """Place the job's next chunk within ``rows``; on failure nothing of it remains.

        What is refused in a simulation is no reason for which the job waits.
        """
        told = len(job.refusals)
        try:
            return self._place_batch(statement, job, rows, simulate)
        finally:
            if simulate:
                del job.refusals[told:]

    def _place_batch(
        self, statement: Statement, job: Job, rows: np.ndarray | None, simulate: bool
    ) -> bool:
        ask = self._session.ask
        ask.pre_job_allocation(job)
        tasks = self._batches.to_allocate(job, real=not simulate)
        refusal = ask.is_job_over_queue_capacity(job, tasks)
        if refusal is not None:
            job.refusals.append(refusal)
            return False
        if job.sub_group_root is None:
            return self._place_divided(statement, job, tasks, rows, simulate)
        every = self._session.nodes.all_rows if rows is None else rows
        return self._place_set(statement, job, job.sub_group_root, tasks, every, simulate)

    # -- sub-jobs and hypernodes

    def _place_divided(
        self,
        statement: Statement,
        job: Job,
        tasks: Sequence[Task],
        rows: np.ndarray | None,
        simulate: bool,
    ) -> bool:
        """Place inside one hypernode, and the tasks of each sub-job inside one below it."""
        session = self._session
        parts: dict[str, list[Task]] = {}
        for task in tasks:
            assert task.sub_job is not None
            parts.setdefault(task.sub_job.uid, []).append(task)
        # A part of a job does not know where the rest of it is.
        whole = session.jobs[job.uid]
        for name in hyper_nodes_for(session, whole, ROOT, simulate=simulate):
            mark = statement.checkpoint()
            if all(
                self._place_sub_job(statement, whole.sub_jobs[uid], own, name, rows, simulate)
                for uid, own in parts.items()
            ):
                return True
            statement.rollback(mark)
        return False

    def _place_sub_job(
        self,
        statement: Statement,
        sub_job: SubJob,
        tasks: Sequence[Task],
        hyper_node: str,
        rows: np.ndarray | None,
        simulate: bool,
    ) -> bool:
        session = self._session
        for name in hyper_nodes_for(session, sub_job, hyper_node, simulate=simulate):
            mark = statement.checkpoint()
            inside = rows_within(session, name, rows)
            if self._place_all(statement, tasks, inside, simulate):
                return True
            statement.rollback(mark)
        return False

    # -- the tree of sub-groups

    def _place_set(
        self,
        statement: Statement,
        job: Job,
        group: SubGroupSet,
        tasks: Sequence[Task],
        rows: np.ndarray,
        simulate: bool,
    ) -> bool:
        pod_sets = {p.name: job.sub_jobs[p.uid] for p in group.leaves()}
        for subset in self._session.ask.subset_nodes(job, group, pod_sets, tasks, rows):
            mark = statement.checkpoint()
            if self._place_children(statement, job, group, tasks, np.asarray(subset), simulate):
                return True
            statement.rollback(mark)
        return False

    def _place_children(
        self,
        statement: Statement,
        job: Job,
        group: SubGroupSet,
        tasks: Sequence[Task],
        rows: np.ndarray,
        simulate: bool,
    ) -> bool:
        if not group.sets and len(group.pod_sets) == 1:  # all tasks are of this one
            only = job.sub_jobs[group.pod_sets[0].uid]
            return self._place_pod_set(statement, job, only, tasks, rows, simulate)
        for inner in sorted(group.sets, key=lambda inner: inner.name):
            names = {p.name for p in inner.leaves()}
            own = [t for t in tasks if _pod_set_name(t) in names]
            if not self._place_set(statement, job, inner, own, rows, simulate):
                return False
        names = {p.name for p in group.pod_sets}
        for pod_set in self._batches.sorted_pod_sets(job):
            if pod_set.name in names:
                own = [t for t in tasks if _pod_set_name(t) == pod_set.name]
                if not self._place_pod_set(statement, job, pod_set, own, rows, simulate):
                    return False
        return True

    def _place_pod_set(
        self,
        statement: Statement,
        job: Job,
        pod_set: SubJob,
        tasks: Sequence[Task],
        rows: np.ndarray,
        simulate: bool,
    ) -> bool:
        ask = self._session.ask
        for subset in ask.subset_nodes(job, pod_set, {pod_set.name: pod_set}, tasks, rows):
            mark = statement.checkpoint()
            if self._place_all(statement, tasks, np.asarray(subset), simulate):
                return True
            statement.rollback(mark)
        return False

    def _place_all(
        self, statement: Statement, tasks: Sequence[Task], rows: np.ndarray | None, simulate: bool
    ) -> bool:
        if rows is not None and len(rows) == len(self._session.nodes):
            rows = None
        return all(self.place_task(statement, task, rows, simulate=simulate) for task in tasks)

    # -- one task

    def place_task(
        self, statement: Statement, task: Task, rows: np.ndarray | None, *, simulate: bool
    ) -> bool:
        """Place one task on the best node that takes it."""
        session = self._session
        queries = session.queries
        error = queries.prepare(task)
        if error is not None:
            if not simulate:
                assert task.job is not None
                task.job.fit_errors[task.uid] = FitErrors.for_all(error, len(session.nodes))
            return False
        if self._prepares_order:
            session.ask.node_pre_order(task, session.nodes.view(rows))
        if task.best_effort or task.gpu.shared:
            scores = queries.scores(task, rows)
            room = has_room(session, task, rows, now=False)
            able = room & queries.remembered_ok(task, rows) & ~np.isnan(scores)
            ranked = np.where(able, scores, -np.inf)
        else:
            ranked = queries.hopeful(task, rows)
        if self._place_best(statement, task, rows, ranked, simulate):
            return True
        if not simulate:
            assert task.job is not None
            task.job.fit_errors[task.uid] = self._explain(task, rows)
        return False

    def _place_best(
        self,
        statement: Statement,
        task: Task,
        rows: np.ndarray | None,
        ranked: np.ndarray,
        simulate: bool,
    ) -> bool:
        """Place on the best by score that the filters let through."""
        queries = self._session.queries
        every = self._session.nodes.all_rows if rows is None else rows
        if not len(every):
            return False
        # Mostly the best one passes, so the others are not asked.
        for attempt in range(self._patience):
            position = int(ranked.argmax())
            if ranked[position] == -np.inf:
                return False
            row = position if rows is None else int(rows[position])
            if queries.predicate(task, row) is None and self._place_on(
                statement, task, row, simulate
            ):
                return True
            if not attempt:
                ranked = ranked.copy()
            ranked[position] = -np.inf
        left = np.flatnonzero(ranked != -np.inf)
        left = left[queries.verdicts(task, every[left]).ok]
        best_first = left[np.argsort(-ranked[left], kind="stable")]
        return any(
            self._place_on(statement, task, row, simulate) for row in every[best_first].tolist()
        )

    def _explain(self, task: Task, rows: np.ndarray | None) -> FitErrors:
        errors = self._session.queries.fit_errors(task, rows)
        if task.gpu.shared and errors.verdicts is not None:
            room = has_room(self._session, task, rows, now=False)
            return errors.overlaid(errors.verdicts.ok & ~room, _NO_SHARE)
        return errors

    def _place_on(self, statement: Statement, task: Task, row: int, simulate: bool) -> bool:
        if task.gpu.shared:
            return self._place_share(statement, task, row, simulate)
        if not simulate and self._fits_now(task, row):
            return statement.allocate(task, row) is None
        return statement.pipeline(task, row) is None

    def _fits_now(self, task: Task, row: int) -> bool:
        if task.best_effort or task.gpu.shared:
            return bool(has_room(self._session, task, np.array([row]), now=True)[0])
        return bool(self._session.queries.fits_idle(task)[row])

    def _place_share(self, statement: Statement, task: Task, row: int, simulate: bool) -> bool:
        """Place a task that takes parts of devices: groups with room, then fresh devices."""
        nodes = self._session.nodes
        shares = nodes.shares(row)
        waits = simulate or not self._fits_now(task, row)
        groups: list[str] = []
        for group in ranked_devices(self._session, task, row):
            if group == WHOLE_GPU:
                taken = {*shares.used, *shares.marked, *groups}
                groups.append(_new_group(nodes.names[row], taken))
            else:
                groups.append(group)
                waits = waits or not shares.fits_group_now(task.gpu, group)
            if len(groups) == task.gpu.devices:
                chosen = tuple(groups)
                if waits:
                    return statement.pipeline(task, row, groups=chosen) is None
                return statement.allocate(task, row, groups=chosen) is None
        return False


def _new_group(node: str, taken: set[str]) -> str:
    """A name for the tasks that will share a device which nobody shares yet."""
    return next(name for i in count(1) if (name := f"{node}/shared-{i}") not in taken)


def _pod_set_name(task: Task) -> str:
    assert task.sub_job is not None
    return task.sub_job.name
