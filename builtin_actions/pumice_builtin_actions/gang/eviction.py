"""What gangpreempt and gangreclaim share: room for a whole job, domain by domain."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from pydantic import Field

from pumice import (
    ROOT,
    EvictionContext,
    EvictionKind,
    Job,
    RequestFit,
    Session,
    Statement,
    Task,
    TaskStatus,
)
from pumice_builtin_actions.gang.bundles import Bundle, VictimOrder, select_bundles
from pumice_builtin_actions.gang.donors import Donors
from pumice_builtin_actions.gang.nomination import Nomination
from pumice_builtin_actions.greedy.options import ErrorCacheOptions
from pumice_builtin_actions.greedy.pending_work import PendingSubJob, make_worksheet

_DEFAULT_DOMAINS = 8
_PREEMPTABLE = "volcano.sh/preemptable"


class GangOptions(ErrorCacheOptions):
    """Options of both actions."""

    max_domains: int = Field(
        _DEFAULT_DOMAINS,
        alias="maxDomains",
        description="Most domains of nodes to try for a job; 0 or less means the default.",
    )
    allow_whole: bool = Field(
        True,
        alias="allowWholeBundle",
        description="Whether a victim job may be taken below its minimum, all of it at once.",
    )


class GangPolicy(NamedTuple):
    """In what one gang action differs from the other."""

    kind: EvictionKind
    reason: str
    statuses: Collection[TaskStatus]
    """Those of tasks that may be victims."""
    gives: Callable[[Job, Job], bool]
    """Whether the second job's tasks may be victims of the first one's claim, plugins aside."""
    turns: Callable[[Job], VictimOrder]
    """Whose tasks go first for a job's claim."""
    entitled: Callable[[Job, list[Task]], bool]
    """Whether a job may claim room for all these tasks together."""


class GangEviction:
    """Frees room for a job as a whole and promises it to the job's tasks."""

    def __init__(self, session: Session, options: GangOptions, way: GangPolicy) -> None:
        self._session = session
        self._way = way
        self._allow_whole = options.allow_whole
        self._max_domains = options.max_domains if options.max_domains > 0 else _DEFAULT_DOMAINS
        self._nomination = Nomination(session, error_cache=options.predicate_error_cache)
        self._givers = Donors(session, way.statuses)
        self._yielding = [job for job in session.jobs.values() if _gives_way(job)]

    def serve(self, job: Job) -> None:
        """Give a starving job its turn: its minimum is promised, or nothing has happened."""
        session = self._session
        with session.statement() as statement:
            nominated = self._claim(statement, job)
            if session.ask.job_pipelined(job):
                statement.commit()
                for uid, hyper_node in nominated.items():
                    job.sub_jobs[uid].nominated_hyper_node = hyper_node

    def _claim(self, statement: Statement, job: Job) -> dict[str, str]:
        session, way = self._session, self._way
        works = self._works(job)
        pending = [task for work in works for task in reversed(work.tasks)]
        if not pending or not way.entitled(job, pending):
            return {}
        need = sum((task.vector for task in pending), np.zeros_like(pending[0].vector))
        for domain in self._domains(job):
            rows = session.rows_of(domain)
            if rows is None:
                rows = session.nodes.all_rows
            nominated = self._claim_in(statement, job, works, need, domain, rows)
            if nominated is not None:
                return nominated
        return {}

    def _works(self, job: Job) -> list[PendingSubJob]:
        """What is to be placed, sub-job by sub-job; of a job that is ready only the first."""
        sheet = make_worksheet(self._session, job, gated=False)
        works = []
        while sheet.order:
            works.append(sheet.by_sub_job[sheet.order.pop().uid])
        return works[:1] if self._session.ask.job_ready(job) else works

    def _domains(self, job: Job) -> list[str]:
        ask = self._session.ask
        if not ask.has("hyper_node_gradient_for_job"):
            return [ROOT]
        gradients = ask.hyper_node_gradient_for_job(job, ROOT, "evict")
        names = dict.fromkeys(name for gradient in gradients or () for name in gradient)
        if not names and not job.has_hard_topology:
            return [ROOT]
        return list(names)[: self._max_domains]

    def _claim_in(
        self,
        statement: Statement,
        job: Job,
        works: list[PendingSubJob],
        need: np.ndarray,
        domain: str,
        rows: np.ndarray,
    ) -> dict[str, str] | None:
        """Evict bundle after bundle of a domain until the job can be promised its room there."""
        nodes = self._session.nodes
        mark = statement.checkpoint()
        # Room that is promised to others already is not subtracted: the placement will tell.
        free = (nodes.idle[rows] + nodes.releasing[rows]).sum(axis=0)
        fit = RequestFit(need)
        waiting: list[Task] = []
        for bundle in self._bundles(job, need, domain, rows):
            waiting += bundle.tasks
            free = sum((task.vector for task in bundle.tasks), free)
            if not fit.fits(free.tolist()):
                continue
            for task in waiting:
                statement.evict(task, self._way.reason, claimant=job)
            waiting = []
            nominated = self._nomination.make(statement, job, works, domain)
            if nominated is not None:
                return nominated
        statement.rollback(mark)
        return None

    def _bundles(self, job: Job, need: np.ndarray, domain: str, rows: np.ndarray) -> list[Bundle]:
        session, way, givers = self._session, self._way, self._givers
        inside = None if len(rows) == len(session.nodes) else frozenset(rows.tolist())
        givers.renew()
        bundles = [
            bundle
            for giver in self._yielding
            if way.gives(job, giver)
            for bundle in givers.bundles(giver, inside)
        ]
        return select_bundles(
            session,
            EvictionContext(way.kind, job, hyper_node=domain),
            bundles,
            need,
            way.turns(job),
            allow_whole=self._allow_whole,
        )


def _gives_way(job: Job) -> bool:
    """Whether a job lets gangs evict its tasks: unless its pod group says no."""
    group = job.group
    return job.preemptable or not (
        _PREEMPTABLE in group.annotations or _PREEMPTABLE in group.labels
    )
