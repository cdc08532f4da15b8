"""A simulation: place a claimant and the evicted victims in queue order."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.model.cursors import RowCursor
from pumice.model.fitting import RequestFit
from pumice.model.gang import has_pending
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.statement import Statement
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.kinds import Kinds
from pumice.solver.queue_tree import QueueTree
from pumice.solver.ranked_jobs import RankedJobs
from pumice.solver.refusals import Losses

if TYPE_CHECKING:
    from pumice.session.session import Session


_SINGLY = 8
"""So many jobs are taken one by one before it is looked again whether some can be passed over."""


class Outcome(enum.Enum):
    """How a simulation ended."""

    PLACED = enum.auto()
    """The claimant was placed; the validator decides."""
    NOT_PLACED = enum.auto()
    """The claimant was not placed."""
    REFUSED = enum.auto()
    """The validator would refuse the plan; claimant and victims were not placed to the end."""


class Simulation:
    """Places a claimant, and again the victims that have been evicted for it."""

    def __init__(self, session: Session, placer: GangPlacer, *, bystanders: bool = False) -> None:
        """``bystanders``: the claimant has its place in the queue order, which pending jobs that
        are not part of the plan influence; else it is placed first."""
        self._session = session
        self._bystanders = bystanders
        self._placer = placer
        self._kinds = Kinds.of_session(session)
        self._ranks = session.order.has_job_keys and session.uses("order_keys")
        self._bounds_capacity = session.uses("solver_search")
        self.expects_refusals = False
        """Whether the validator has refused a plan: only then it is asked during a simulation."""

    def run(
        self,
        statement: Statement,
        claimant: Job,
        of_victims: set[str],
        where: np.ndarray,
        *,
        losses: Losses | None = None,
        refusal_matters: bool = True,
        may_place_now: Callable[[], bool] = lambda: True,
    ) -> Outcome:
        """Place claimant and victims in queue order.

        ``may_place_now`` is asked after each victim, until the claimant's turn: False means that
        it will not be placed.

        A victim that fits no node stays evicted. If the plan is refused for its ``losses``, the
        simulation ends as soon as the claimant is placed; at once, if a refusal does not matter
        more than that the claimant is not placed.
        """
        largest = _LargestNode(self._session, where)
        claimant_placed, refused = False, losses is not None and losses.refused
        for job in self._in_order(claimant, of_victims):
            may_fit = job is claimant or not self._bounds_capacity or largest.may_take_from(job)
            placed = may_fit and self._placer.place(statement, job, where, simulate=True)
            if job is claimant:
                if not placed:
                    return Outcome.NOT_PLACED
                claimant_placed = True
            elif (
                not placed
                and losses is not None
                and not refused
                and (losses.certain or self.expects_refusals)
            ):
                refused = losses.add(job)
            if refused and (claimant_placed or not refusal_matters):
                return Outcome.REFUSED
            if placed and not claimant_placed and not may_place_now():
                return Outcome.NOT_PLACED
        return Outcome.PLACED if claimant_placed else Outcome.NOT_PLACED

    def _in_order(self, claimant: Job, of_victims: set[str]) -> Iterator[Job]:
        """The claimant and the victims, in queue order."""
        session = self._session
        if not self._bystanders:
            yield claimant
            victims = sorted((session.jobs[uid] for uid in of_victims), key=lambda job: job.uid)
            tree_of_victims = QueueTree(session, victims)
            while tree_of_victims:
                yield tree_of_victims.pop()
            return
        left = {uid: session.jobs[uid] for uid in sorted(of_victims)}
        # Bystanders influence which queue comes next, but nothing within a queue.
        by_rank = self._ranks
        rank: dict[str, Any] = {}
        if by_rank:
            rank = {uid: session.order.job_rank(job) for uid, job in left.items()}
            # The claimant may be a part of its job, with a key of its own.
            rank[claimant.uid] = session.order.job_key(claimant)
        left[claimant.uid] = claimant
        tree: QueueTree | None = None
        singly = 0
        while left and not (by_rank and _of_one_queue(left)):
            if tree is None:
                tree = self._order(left, rank)
            if not tree:
                return
            job = tree.pop()
            if left.pop(job.uid, None) is not None:
                singly = 0
                yield job
            elif singly:
                singly -= 1
            elif tree and tree.by_keys and not tree.skip_ranked(self._kinds.of):
                singly = _SINGLY
        for uid in sorted(left, key=rank.__getitem__):
            yield left[uid]

    def _order(self, apart: dict[str, Job], rank: dict[str, Any]) -> QueueTree:
        """All pending jobs, the victims and the claimant, in queue order."""
        session = self._session
        if not self._ranks:
            others = [
                job for uid, job in session.jobs.items() if uid not in apart and has_pending(job)
            ]
            return QueueTree(session, sorted([*others, *apart.values()], key=lambda job: job.uid))
        excluded = apart.copy()
        return QueueTree.ranked(
            session,
            self._waiting,
            lambda job: job.uid not in excluded,
            more=[(rank[uid], job) for uid, job in apart.items()],
        )

    @cached_property
    def _waiting(self) -> RankedJobs:
        """Sorted when first needed: in most cycles no job needs victims."""
        return RankedJobs(self._session, has_pending)


def _of_one_queue(jobs: dict[str, Job]) -> bool:
    every = iter(jobs.values())
    queue = next(every).queue
    return all(job.queue == queue for job in every)


class _LargestNode:
    """The largest future idle of each resource on any of some nodes: an upper bound for a task."""

    def __init__(self, session: Session, rows: np.ndarray) -> None:
        self._nodes = session.nodes
        self._rows = rows
        self._changes = RowCursor(session.nodes)
        self._free: list[int] = []
        self._fits_memo: dict[int, bool] = {}
        """By the identity of a request, which tasks of one pod template share."""

    def may_take_from(self, job: Job) -> bool:
        """Whether a task of a victim job that could be placed again might fit a node."""
        if not len(self._rows):
            return False
        if self._changes.changed() != []:
            self._free = self._nodes.future_idle[self._rows].max(axis=0).tolist()
            self._fits_memo = {}
        for status in (TaskStatus.RELEASING, TaskStatus.PENDING):
            for task in job.by_status[status].values():
                if self._fits(task):
                    return True
        return False

    def _fits(self, task: Task) -> bool:
        if task.best_effort:
            return True
        request = task.vector
        fits = self._fits_memo.get(id(request))
        if fits is None:
            fits = RequestFit(request, always=()).fits(self._free)
            self._fits_memo[id(request)] = fits
        return fits
