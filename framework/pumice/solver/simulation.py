"""A simulation: place a claimant and its victims in the order of the queues."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.model.gang import has_pending
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.statement import Statement
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.queue_tree import QueueTree
from pumice.solver.ranked_jobs import RankedJobs

if TYPE_CHECKING:
    from pumice.session.session import Session


class Simulation:
    """Tries out what would happen to a claimant and to victims that have been evicted for it."""

    def __init__(self, session: Session, placer: GangPlacer) -> None:
        self._session = session
        self._placer = placer
        self._ranks = session.order.has_job_keys and session.uses("ranked")
        self._bounds_capacity = session.uses("slots")

    def run(
        self, statement: Statement, claimant: Job, of_victims: set[str], where: np.ndarray
    ) -> bool:
        """Place claimant and victims in the order of the queues; tells whether it got its place.

        Other pending jobs only shape the order. A victim that finds no place stays evicted.
        """
        room = _LargestRoom(self._session, where)
        claimant_placed = False
        for job in self._in_order(claimant, of_victims):
            if job is not claimant:
                if not self._bounds_capacity or room.may_take_from(job):
                    self._placer.place(statement, job, where, simulate=True)
            elif self._placer.place(statement, job, where, simulate=True):
                claimant_placed = True
            else:
                return False
        return claimant_placed

    def _in_order(self, claimant: Job, of_victims: set[str]) -> Iterator[Job]:
        """The claimant and the victims as they come up in the order of the queues."""
        session = self._session
        left = {uid: session.jobs[uid] for uid in sorted(of_victims)}
        # Others that wait decide which queue comes next, but nothing within a queue.
        by_rank = self._ranks
        rank: dict[str, Any] = {}
        if by_rank:
            rank = {uid: session.order.job_rank(job) for uid, job in left.items()}
            # A part of a job has a rank of its own.
            rank[claimant.uid] = session.order.job_key(claimant)
        left[claimant.uid] = claimant
        tree: QueueTree | None = None
        while left and not (by_rank and _of_one_queue(left)):
            if tree is None:
                tree = self._order(claimant, left, rank)
            if not tree:
                return
            job = tree.pop()
            if left.pop(job.uid, None) is not None:
                yield job
        for uid in sorted(left, key=rank.__getitem__):
            yield left[uid]

    def _order(self, claimant: Job, apart: dict[str, Job], rank: dict[str, Any]) -> QueueTree:
        """All jobs that wait, the victims and the claimant, in the order of the queues."""
        session = self._session
        if not self._ranks:
            others = [
                job for uid, job in session.jobs.items() if uid not in apart and has_pending(job)
            ]
            victims = [job for job in apart.values() if job is not claimant]
            return QueueTree(session, [*others, *victims, claimant])
        kept = apart.copy()
        order = QueueTree.ranked(session, self._waiting.refresh(), lambda job: job.uid not in kept)
        for uid, job in apart.items():
            if job is not claimant:
                order.push(job, rank[uid])
        order.push(claimant, rank[claimant.uid])
        return order

    @cached_property
    def _waiting(self) -> RankedJobs:
        """Ranked when first asked: mostly nobody has to be searched for."""
        return RankedJobs(self._session, has_pending)


def _of_one_queue(jobs: dict[str, Job]) -> bool:
    every = iter(jobs.values())
    queue = next(every).queue
    return all(job.queue == queue for job in every)


class _LargestRoom:
    """The most that is free of each resource on any of some nodes: nobody gets more."""

    def __init__(self, session: Session, where: np.ndarray) -> None:
        self._nodes = session.nodes
        self._where = where
        self._version = -1
        self._free: list[int] = []
        self._known: dict[int, bool] = {}
        """By the identity of a request, which like tasks share: whether it may find room."""

    def may_take_from(self, job: Job) -> bool:
        """Whether some task of a victim job that could be placed again might find room."""
        if not len(self._where):
            return False
        nodes = self._nodes
        if self._version != nodes.version:
            self._free = nodes.future_idle[self._where].max(axis=0).tolist()
            self._version = nodes.version
            self._known = {}
        for status in (TaskStatus.RELEASING, TaskStatus.PENDING):
            for task in job.by_status[status].values():
                if self._fits(task):
                    return True
        return False

    def _fits(self, task: Task) -> bool:
        if task.best_effort:
            return True
        known = self._known.get(id(task.vector))
        if known is None:
            known = self._known[id(task.vector)] = all(
                amount <= free
                for amount, free in zip(task.vector.tolist(), self._free, strict=True)
                if amount > 0
            )
        return known
