"""Preempt: evict tasks of lower rank inside a queue for its starving jobs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pydantic import Field

from pumice import (
    PREEMPTABLE_STATUSES,
    Action,
    Job,
    JobHeap,
    Queue,
    RequestFit,
    Session,
    Statement,
    Task,
    best_rows_first,
)
from pumice_builtin_actions.greedy.dry_run import CandidateLimits, best_candidate
from pumice_builtin_actions.greedy.eviction import (
    ResolvableNodes,
    evict_until,
    fits_without,
    is_eligible,
    is_never_preempting,
    may_be_eligible,
    note_not_starving,
    note_undone,
    pending_tasks,
)
from pumice_builtin_actions.greedy.failure import Attempt, note_failure
from pumice_builtin_actions.greedy.nominated_node import awaits_nominated_node
from pumice_builtin_actions.greedy.options import ErrorCacheOptions
from pumice_builtin_actions.greedy.queue_lookahead import FullQueue, QueueLookahead
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.repeated_failure import NoVictims, RepeatedFailure
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.victims import (
    Evictable,
    EvictableByQueue,
    TaskFilter,
    VictimOrder,
    of_other_jobs,
    of_same_job,
)


class Preempt(Action):
    """Evict tasks of other jobs of the queue for its starving jobs, then tasks inside those jobs.

    Between jobs, the evictions for a job are committed only if its minimum is then pipelined;
    otherwise all of them are rolled back. Inside a job every preemption that succeeds is committed.
    Nodes are tried by falling score. On each, victims are evicted in victim order until the queue
    may hold the task, the node has enough resources and the filters accept it.

    Jobs with a network topology are left out: see gangpreempt.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs_pending = True
    needs = ("job_starving", "preemptable")

    class Options(ErrorCacheOptions):
        without_effect = frozenset({"topologyAwarePreemptWorkerNum"})

        topology_aware: bool = Field(
            False,
            alias="enableTopologyAwarePreemption",
            description="Simulate evictions on several nodes and take the least harmful victims.",
        )
        worker_count: int = Field(
            16,
            alias="topologyAwarePreemptWorkerNum",
            description="Accepted for compatibility: nodes are simulated one after the other.",
        )
        min_candidates_percentage: int = Field(
            10,
            alias="minCandidateNodesPercentage",
            description="Candidate nodes to find before choosing, in per cent of the nodes tried.",
        )
        min_candidates: int = Field(
            1,
            alias="minCandidateNodesAbsolute",
            description="Least number of candidate nodes to find before choosing.",
        )
        max_candidates: int = Field(
            100,
            alias="maxCandidateNodesAbsolute",
            description="Most candidate nodes to find before choosing.",
        )

    def execute(self, session: Session) -> None:
        options = self.options
        limits = CandidateLimits(
            options.min_candidates_percentage, options.min_candidates, options.max_candidates
        )
        nodes = ResolvableNodes(session, remember=options.predicate_error_cache)
        _Preemption(session, nodes, limits if options.topology_aware else None).run()


class _Preemption:
    def __init__(
        self, session: Session, nodes: ResolvableNodes, limits: CandidateLimits | None
    ) -> None:
        self._session = session
        self._nodes = nodes
        self._limits = limits
        self._evictable = EvictableByQueue(session, PREEMPTABLE_STATUSES)
        self._lookahead = QueueLookahead(session) if session.uses("victims") else None
        self._no_tasks = Evictable(session, (), lambda task: False)
        self._reachable = ReachableNodes(session)
        self._last_failure = RepeatedFailure(session)
        self._no_victims = NoVictims(session)
        self._preemptors: dict[str, JobHeap] = {}
        self._starving: dict[str, list[Job]] = {}

    def run(self) -> None:
        session = self._session
        for job in session.jobs.values():
            if may_be_eligible(session, job):
                with session.turn(job):
                    self._collect(job)
        queues = session.order.queue_heap(session.queues[name] for name in self._preemptors)
        while queues:
            queue = queues.pop()
            jobs = self._preemptors[queue.name]
            while jobs:
                job = jobs.pop()
                with session.turn(job):
                    self._between_jobs(job)
            for job in self._starving[queue.name]:
                with session.turn(job):
                    self._inside_job(job)

    def _collect(self, job: Job) -> None:
        session = self._session
        if not session.ask.job_starving(job):
            note_not_starving(session, job)
            return
        if not is_eligible(session, job) or job.has_network_topology:
            return
        if job.queue not in self._preemptors:
            self._preemptors[job.queue] = session.order.job_heap(evicting=True)
            self._starving[job.queue] = []
        self._preemptors[job.queue].push(job)
        self._starving[job.queue].append(job)

    def _between_jobs(self, job: Job) -> None:
        session = self._session
        with session.statement() as statement:
            for task in pending_tasks(session, job):
                if not session.ask.job_starving(job):
                    break
                # Usually every evictable task of the queue qualifies, and none need be filtered.
                filtered = task.best_effort or job.count(*PREEMPTABLE_STATUSES)
                accepts = of_other_jobs(task) if filtered else None
                evictable = self._evictable.of(job.queue)
                self._preempt(statement, _Preemptor(task, accepts, evictable))
            if session.ask.job_pipelined(job):
                statement.commit()
            else:
                note_undone(session, job, statement)

    def _inside_job(self, job: Job) -> None:
        session = self._session
        jobs = [job] if job.count(*PREEMPTABLE_STATUSES) else []
        for task in pending_tasks(session, job):
            evictable = self._no_tasks
            if jobs:
                tasks = VictimOrder(session, jobs).tasks_of(job.queue)
                evictable = Evictable(session, tasks, of_same_job(task))
            preemptor = _Preemptor(task, None, evictable, inside=True)
            with session.statement() as statement:
                if not self._preempt(statement, preemptor):
                    return
                # Volcano commits here without asking whether the job is pipelined.
                statement.commit()

    def _preempt(self, statement: Statement, preemptor: _Preemptor) -> bool:
        """Evict for one task on one node, and pipeline the task there."""
        session, task = self._session, preemptor.task
        if (
            is_never_preempting(session, task)
            or session.queries.prepare(task) is not None
            or awaits_nominated_node(session, task)
            or self._last_failure.covers(task, preemptor.evictable)
        ):
            return False
        groups = self._nodes.groups(task)
        # Among all evictable tasks of the queue, none of them its own, nothing tells jobs apart.
        shared = preemptor.accepts is None and not preemptor.inside and self._limits is None
        if shared:
            known = self._no_victims.like(task, preemptor.evictable, groups)
            if known is not None:
                self._last_failure.record(task, preemptor.evictable)
                self._note_failure(preemptor, known)
                return False
        reachable = self._reachable.mask(task.vector, preemptor.evictable)
        attempt = Attempt.of(session, task, reachable, preemptor.evictable)
        for group in groups:
            rows = group[reachable[group]]
            if not len(rows):
                continue
            if self._limits is not None:
                wanted = self._limits.wanted(len(group))
                done = self._on_best_candidate(statement, preemptor, rows, wanted)
            else:
                done = self._on_best_node(statement, preemptor, group, reachable, attempt)
            if done:
                return True
        self._last_failure.record(task, preemptor.evictable)
        if shared:
            self._no_victims.record(task, preemptor.evictable, groups, attempt)
        if not preemptor.inside:
            self._note_failure(preemptor, attempt)
        return False

    def _note_failure(self, preemptor: _Preemptor, attempt: Attempt) -> None:
        found = attempt.asked or preemptor.has_candidates()
        what = f"running preemptable pod of another job in queue {preemptor.task.queue}"
        note_failure(self._session, preemptor.task, attempt, victims=found, what=what)

    def _on_best_node(
        self,
        statement: Statement,
        preemptor: _Preemptor,
        rows: np.ndarray,
        reachable: np.ndarray,
        attempt: Attempt,
    ) -> bool:
        queries, task = self._session.queries, preemptor.task
        queue = self._session.queues[task.queue]
        # Scores may be relative to each other, so all nodes that passed are scored.
        scores = queries.scores(task, rows)
        tried = reachable[rows]
        fit = RequestFit(task.vector)
        fits_already: np.ndarray | None = None
        full = FullQueue(self._session, self._lookahead, queue, task)
        for row in best_rows_first(scores[tried], rows[tried]):
            evictable = preemptor.evictable_on(self._session, row)
            victims = self._session.ask.preemptable(task, evictable) if evictable else []
            attempt.voted(row, preemptor.evictable.tasks[row], victims)
            if not victims:
                if fits_already is None:
                    fits_already = queries.fits_future(task)
                if not fits_already[row]:
                    continue
            attempt.tried = True
            if full.stays_full(row, victims):
                if not attempt.over_share:
                    attempt.over_share = fits_without(self._session.nodes, row, fit, victims)
                if attempt.over_share and not preemptor.evictable.any_tasks:
                    return False  # it is the same on every other node
                continue
            if self._on_node(statement, task, fit, row, queue, victims, attempt):
                return True
        return False

    def _on_node(
        self,
        statement: Statement,
        task: Task,
        fit: RequestFit,
        row: int,
        queue: Queue,
        victims: list[Task],
        attempt: Attempt,
    ) -> bool:
        session, nodes = self._session, self._session.nodes
        if not fits_without(nodes, row, fit, victims):
            return False

        verified = session.evictions.settings.atomic

        def fits() -> bool:
            if not fit.fits(nodes.future_idle[row].tolist()):
                return False
            if not session.ask.allocatable(queue, task):
                attempt.over_share = True
                return False
            accepted = (not verified or session.queries.prepare(task) is None) and (
                session.queries.predicate(task, row) is None
            )
            attempt.unfit = attempt.unfit or not accepted
            return accepted

        with session.statement() as trial:
            evicted = evict_until(session, trial, task, victims, fits, "preempt")
            if evicted is None:
                return False
            # For Volcano the eviction of best-effort tasks alone does not count as one.
            freed = any(not victim.best_effort for victim in evicted)
            if trial.pipeline(task, row, eviction_occurred=freed, verified=verified) is not None:
                return False
            statement.merge(trial)
        return True

    def _on_best_candidate(
        self, statement: Statement, preemptor: _Preemptor, rows: np.ndarray, wanted: int
    ) -> bool:
        session, task = self._session, preemptor.task
        best = best_candidate(
            session, task, rows, lambda row: preemptor.evictable_on(session, row), wanted
        )
        if best is None:
            return False
        with session.statement() as trial:
            for victim in best.victims:
                trial.evict(victim, "preempt", claimant=task.job)
            if trial.pipeline(task, best.row, eviction_occurred=True) is not None:
                return False
            statement.merge(trial)
        return True


class _Preemptor(NamedTuple):
    """A task to evict for, and the tasks that may be evicted for it."""

    task: Task
    accepts: TaskFilter | None
    """Which of the evictable tasks may go; None: all."""
    evictable: Evictable
    inside: bool = False
    """Whether the victims are tasks of the same job."""

    def has_candidates(self) -> bool:
        """Whether any task might be evicted for it, on whatever node."""
        accepts = self.accepts
        if accepts is None:
            return self.evictable.any_tasks
        return any(accepts(task) for tasks in self.evictable.tasks for task in tasks)

    def evictable_on(self, session: Session, row: int) -> Sequence[Task]:
        tasks, accepts = self.evictable.tasks[row], self.accepts
        if accepts is not None:
            tasks = [task for task in tasks if accepts(task)]
        assert self.task.job is not None
        return session.evictions.evictable(self.task.job, tasks)
