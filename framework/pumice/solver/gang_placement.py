"""Place the next batch of a gang: all its tasks or none, on one set of nodes after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.job import Job, SubJob
from pumice.model.task import Task
from pumice.model.topology import ROOT
from pumice.session.domains import hyper_nodes_for, rows_within
from pumice.session.statement import Statement
from pumice.solver.task_batches import TaskBatches
from pumice.solver.task_placement import TaskPlacer

if TYPE_CHECKING:
    from pumice.session.session import Session

_T = TypeVar("_T")


class GangPlacer:
    """Places jobs batch by batch, for real or in a simulation."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._batches = TaskBatches(session.ask, session.order)

    @property
    def batches(self) -> TaskBatches:
        """Which tasks of a job are placed together."""
        return self._batches

    def place(
        self, statement: Statement, job: Job, rows: np.ndarray | None, *, simulate: bool
    ) -> bool:
        """Place the job's next batch within ``rows`` (None: all); on failure nothing is placed.

        ``simulate``: tasks are only pipelined, tasks that the simulation evicted are placed like
        pending ones, and a refusal is not recorded as a reason why the job waits.
        """
        refusals = len(job.refusals)
        try:
            return _Attempt(self._session, self._batches, statement, job, simulate).run(rows)
        finally:
            if simulate:
                del job.refusals[refusals:]


class _Attempt:
    """One attempt to place a job's next batch."""

    __slots__ = ("_batches", "_job", "_session", "_simulate", "_statement", "_tasks")

    def __init__(
        self,
        session: Session,
        batches: TaskBatches,
        statement: Statement,
        job: Job,
        simulate: bool,
    ) -> None:
        self._session = session
        self._batches = batches
        self._statement = statement
        self._job = job
        self._simulate = simulate
        self._tasks = TaskPlacer(session, statement, simulate=simulate)

    def run(self, rows: np.ndarray | None) -> bool:
        ask, job = self._session.ask, self._job
        ask.pre_job_allocation(job)
        tasks = self._batches.to_allocate(job, real=not self._simulate)
        refusal = ask.is_job_over_queue_capacity(job, tasks)
        if refusal is not None:
            job.refusals.append(refusal)
            return False
        if job.sub_group_root is None:
            return self._place_sub_jobs(tasks, rows)
        every = self._session.nodes.all_rows if rows is None else rows
        return self._place_sub_group(job.sub_group_root, tasks, every)

    def _first_that_works(self, choices: Iterable[_T], place: Callable[[_T], bool]) -> bool:
        """Try one choice after another; what a failed one placed is undone."""
        statement = self._statement
        for choice in choices:
            checkpoint = statement.checkpoint()
            if place(choice):
                return True
            statement.rollback(checkpoint)
        return False

    # -- Volcano: sub-jobs in hypernodes

    def _place_sub_jobs(self, tasks: Sequence[Task], rows: np.ndarray | None) -> bool:
        """Place all tasks inside one hypernode, and those of each sub-job inside one below it."""
        session = self._session
        by_sub_job: dict[str, list[Task]] = {}
        for task in tasks:
            assert task.sub_job is not None
            by_sub_job.setdefault(task.sub_job.uid, []).append(task)
        # The claimant of a search is a part of a job; only the whole job knows its hypernode.
        whole = session.jobs[self._job.uid]

        def place_inside(hyper_node: str) -> bool:
            return all(
                self._place_sub_job(whole.sub_jobs[uid], own, hyper_node, rows)
                for uid, own in by_sub_job.items()
            )

        hyper_nodes = hyper_nodes_for(session, whole, ROOT, simulate=self._simulate)
        return self._first_that_works(hyper_nodes, place_inside)

    def _place_sub_job(
        self, sub_job: SubJob, tasks: Sequence[Task], above: str, rows: np.ndarray | None
    ) -> bool:
        session = self._session
        return self._first_that_works(
            hyper_nodes_for(session, sub_job, above, simulate=self._simulate),
            lambda hyper_node: self._place_all(tasks, rows_within(session, hyper_node, rows)),
        )

    # -- KAI: the tree of sub-groups

    def _place_sub_group(self, group: SubGroupSet, tasks: Sequence[Task], rows: np.ndarray) -> bool:
        pod_sets = {p.name: self._members(p.uid) for p in group.leaves()}
        return self._first_that_works(
            self._session.ask.subset_nodes(self._job, group, pod_sets, tasks, rows),
            lambda subset: self._place_children(group, tasks, np.asarray(subset)),
        )

    def _place_children(self, group: SubGroupSet, tasks: Sequence[Task], rows: np.ndarray) -> bool:
        job = self._job
        if not group.sets and len(group.pod_sets) == 1:  # it has all the tasks
            return self._place_pod_set(job.sub_jobs[group.pod_sets[0].uid], tasks, rows)
        for inner in sorted(group.sets, key=lambda inner: inner.name):
            names = {p.name for p in inner.leaves()}
            own = [t for t in tasks if _pod_set_name(t) in names]
            if not self._place_sub_group(inner, own, rows):
                return False
        names = {p.name for p in group.pod_sets}
        for pod_set in self._batches.sorted_pod_sets(job):
            if pod_set.name in names:
                own = [t for t in tasks if _pod_set_name(t) == pod_set.name]
                if not self._place_pod_set(pod_set, own, rows):
                    return False
        return True

    def _place_pod_set(self, pod_set: SubJob, tasks: Sequence[Task], rows: np.ndarray) -> bool:
        return self._first_that_works(
            self._session.ask.subset_nodes(
                self._job, pod_set, {pod_set.name: self._members(pod_set.uid)}, tasks, rows
            ),
            lambda subset: self._place_all(tasks, np.asarray(subset)),
        )

    def _members(self, uid: str) -> SubJob:
        """The pod set, with the tasks that run already.

        The claimant of a search is a part of a job and would forget in which domain the rest of it
        is. KAI looks at the part alone.
        """
        session = self._session
        job = session.jobs[self._job.uid] if session.evictions.settings.atomic else self._job
        return job.sub_jobs[uid]

    def _place_all(self, tasks: Sequence[Task], rows: np.ndarray | None) -> bool:
        if rows is not None and len(rows) == len(self._session.nodes):
            rows = None  # queries about all nodes are cached better
        return all(self._tasks.place(task, rows) for task in tasks)


def _pod_set_name(task: Task) -> str:
    assert task.sub_job is not None
    return task.sub_job.name
