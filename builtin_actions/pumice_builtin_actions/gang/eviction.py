"""What gangpreempt and gangreclaim share: evict for a whole job, domain by domain."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

import numpy as np
from pydantic import Field

from pumice import (
    ROOT,
    Action,
    EvictionContext,
    EvictionKind,
    Job,
    JobHeap,
    Queue,
    RequestFit,
    Session,
    Statement,
    Task,
    TaskStatus,
)
from pumice_builtin_actions.gang.bundles import Bundle, VictimOrder, select_bundles
from pumice_builtin_actions.gang.donors import Donors
from pumice_builtin_actions.gang.nomination import GangNomination
from pumice_builtin_actions.greedy.eviction import note_undone, skip_overused, starving_jobs
from pumice_builtin_actions.greedy.options import ErrorCacheOptions
from pumice_builtin_actions.greedy.pending_work import PendingSubJob, pending_work
from pumice_builtin_actions.greedy.shortcut import VICTIMS

_DEFAULT_DOMAINS = 8
_PREEMPTABLE = "volcano.sh/preemptable"


class GangOptions(ErrorCacheOptions):
    """Options of both gang actions."""

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
    """How one gang action differs from the other in a session."""

    kind: EvictionKind
    reason: str
    statuses: Collection[TaskStatus]
    """The statuses in which a task may be a victim."""
    may_evict: Callable[[Job, Job], bool]
    """Whether the first job may evict tasks of the second, before plugins are asked."""
    victim_order: Callable[[Job], VictimOrder]
    """Whose tasks are evicted first for a job."""
    is_entitled: Callable[[Job, list[Task]], bool]
    """Whether a job may evict for all these tasks together."""
    skips_overused: bool
    """Whether the jobs of an overused queue are skipped."""


class GangAction(Action):
    """Base of gangpreempt and gangreclaim."""

    shortcuts = (VICTIMS,)

    evicts = True
    needs_pending = True
    needs = ("job_starving", "unified_evictable")

    class Options(GangOptions):
        """See :class:`GangOptions`."""

    def execute(self, session: Session) -> None:
        GangEviction(session, self.options, self.policy(session)).run()

    def policy(self, session: Session) -> GangPolicy:
        """What is particular to the action."""
        raise NotImplementedError


class GangEviction:
    """Evicts for starving jobs as wholes, and nominates nodes for their tasks."""

    def __init__(self, session: Session, options: GangOptions, policy: GangPolicy) -> None:
        self._session = session
        self._policy = policy
        self._allow_whole = options.allow_whole
        self._max_domains = options.max_domains if options.max_domains > 0 else _DEFAULT_DOMAINS
        self._nomination = GangNomination(session, error_cache=options.predicate_error_cache)
        self._donors = Donors(session, policy.statuses)
        self._donor_jobs = [job for job in session.jobs.values() if _allows_gang_eviction(job)]

    def run(self) -> None:
        """Serve the starving jobs in queue and job order."""
        session = self._session
        starving = starving_jobs(session)
        queues = session.order.queue_heap(session.queues[name] for name in starving)
        while queues:
            queue = queues.pop()
            self._serve_queue(queue, starving[queue.name])

    def _serve_queue(self, queue: Queue, jobs: JobHeap) -> None:
        session = self._session
        # Volcano asks once per queue, not per job.
        ask_overused = self._policy.skips_overused
        while jobs:
            job = jobs.pop()
            with session.turn(job):
                if ask_overused and session.ask.overused(queue):
                    skip_overused(session, queue, [job, *jobs])
                    return
                ask_overused = False
                self._serve(job)

    def _serve(self, job: Job) -> None:
        """Pipeline the minimum of a starving job; otherwise everything is rolled back."""
        session = self._session
        with session.statement() as statement:
            nominated = self._evict_and_nominate(statement, job)
            if not session.ask.job_pipelined(job):
                note_undone(session, job, statement)
            elif statement.commit():
                for uid, hyper_node in nominated.items():
                    job.sub_jobs[uid].nominated_hyper_node = hyper_node

    def _evict_and_nominate(self, statement: Statement, job: Job) -> dict[str, str]:
        session = self._session
        sub_jobs = self._pending_sub_jobs(job)
        tasks = [task for pending in sub_jobs for task in reversed(pending.tasks)]
        if not tasks:
            return {}
        if not self._policy.is_entitled(job, tasks):
            session.note(job, "NotEntitled", f"queue {job.queue} may not evict for all its tasks")
            return {}
        request = sum((task.vector for task in tasks), np.zeros_like(tasks[0].vector))
        for domain in self._domains(job):
            rows = session.rows_of(domain)
            if rows is None:
                rows = session.nodes.all_rows
            nominated = self._try_domain(statement, job, sub_jobs, request, domain, rows)
            if nominated is not None:
                return nominated
        self._note_failure(job)
        return {}

    def _note_failure(self, job: Job) -> None:
        donors = (d for d in self._donor_jobs if self._policy.may_evict(job, d))
        if any(d.count(*self._policy.statuses) for d in donors):
            text = "no domain would take it after the evictions that are allowed"
            self._session.note(job, "NotEnough", text)
        else:
            self._session.note(job, "NoVictims", "there is no job whose tasks could be evicted")

    def _pending_sub_jobs(self, job: Job) -> list[PendingSubJob]:
        """What is to be placed, sub-job by sub-job."""
        work = pending_work(self._session, job, queue_gated=False)
        sub_jobs = []
        while work.order:
            sub_jobs.append(work.by_sub_job[work.order.pop().uid])
        # For a job that is ready already Volcano serves the first sub-job only.
        return sub_jobs[:1] if self._session.ask.job_ready(job) else sub_jobs

    def _domains(self, job: Job) -> list[str]:
        ask = self._session.ask
        if not ask.has("hyper_node_gradient_for_job"):
            return [ROOT]
        gradients = ask.hyper_node_gradient_for_job(job, ROOT, "evict")
        names = dict.fromkeys(name for gradient in gradients or () for name in gradient)
        if not names and not job.has_hard_topology:
            return [ROOT]
        return list(names)[: self._max_domains]

    def _try_domain(
        self,
        statement: Statement,
        job: Job,
        sub_jobs: list[PendingSubJob],
        request: np.ndarray,
        domain: str,
        rows: np.ndarray,
    ) -> dict[str, str] | None:
        """Evict bundle after bundle of a domain until the job can be pipelined there."""
        nodes = self._session.nodes
        mark = statement.checkpoint()
        # Volcano does not subtract what is pipelined to other jobs; the placement below does.
        free = (nodes.idle[rows] + nodes.releasing[rows]).sum(axis=0)
        fit = RequestFit(request)
        victims: list[Task] = []
        # At least one bundle is evicted: Volcano leaves a job that fits as it is to allocate.
        for bundle in self._bundles(job, request, domain, rows):
            victims += bundle.tasks
            free = sum((task.vector for task in bundle.tasks), free)
            if not fit.fits(free.tolist()):
                continue
            for task in victims:
                statement.evict(task, self._policy.reason, claimant=job)
            victims = []
            nominated = self._nomination.nominate(statement, job, sub_jobs, domain)
            if nominated is not None:
                return nominated
        statement.rollback(mark)
        return None

    def _bundles(
        self, job: Job, request: np.ndarray, domain: str, rows: np.ndarray
    ) -> list[Bundle]:
        session, policy, donors = self._session, self._policy, self._donors
        inside = None if len(rows) == len(session.nodes) else frozenset(rows.tolist())
        donors.refresh()
        bundles = [
            bundle
            for donor in self._donor_jobs
            if policy.may_evict(job, donor)
            for bundle in donors.bundles(donor, inside)
        ]
        return select_bundles(
            session,
            EvictionContext(policy.kind, job, hyper_node=domain),
            bundles,
            request,
            policy.victim_order(job),
            allow_whole=self._allow_whole,
        )


def _allows_gang_eviction(job: Job) -> bool:
    """Whether gangs may evict tasks of a job.

    As in Volcano, a pod group without the annotation and the label counts as preemptable here.
    """
    group = job.group
    return job.preemptable or not (
        _PREEMPTABLE in group.annotations or _PREEMPTABLE in group.labels
    )
