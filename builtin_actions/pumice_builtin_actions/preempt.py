"""Let jobs take room from tasks of lower rank inside their queue."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import Field

from pumice import PREEMPTABLE_STATUSES, Action, Job, JobHeap, Queue, Session, Statement, Task
from pumice_builtin_actions.greedy.dry_run import Limits, best_candidate
from pumice_builtin_actions.greedy.eviction import (
    CurableNodes,
    best_first,
    evict_until,
    may_claim,
    pending_tasks,
)
from pumice_builtin_actions.greedy.nominated_node import awaits_nominated_node
from pumice_builtin_actions.greedy.queue_lookahead import QueueLookahead
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.victims import (
    Accepts,
    Evictable,
    EvictableByQueue,
    Needed,
    of_other_jobs,
    of_same_job,
)


class Preempt(Action):
    """Evict tasks of the same queue for its starving jobs, then inside those jobs.

    Between jobs, what was evicted for a job counts only if its minimum is then promised; otherwise
    all of it is taken back. Inside a job every task that finds room is kept. Nodes are tried from
    the best score down, and on each the task that would be served last goes first, until queue,
    room and filters have no objection left.

    Jobs with a network topology are left out: see gangpreempt.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs = ("job_starving", "preemptable")

    class Options(Action.Options):
        predicate_error_cache: bool = Field(
            True,
            alias="predicateErrorCacheEnable",
            description="A node that failed for one task is not asked again for its role.",
        )
        topology_aware: bool = Field(
            False,
            alias="enableTopologyAwarePreemption",
            description="Try nodes by simulation and take the one whose victims matter least.",
        )
        worker_count: int = Field(
            16,
            alias="topologyAwarePreemptWorkerNum",
            description="Accepted for compatibility: nodes are simulated one after the other.",
        )
        min_candidates_percentage: int = Field(
            10,
            alias="minCandidateNodesPercentage",
            description="Nodes to find before the best is taken, in per cent of those tried.",
        )
        min_candidates: int = Field(
            1,
            alias="minCandidateNodesAbsolute",
            description="Least number of nodes to find before the best is taken.",
        )
        max_candidates: int = Field(
            100,
            alias="maxCandidateNodesAbsolute",
            description="Most nodes to find before the best is taken.",
        )

    def execute(self, session: Session) -> None:
        options = self.options
        limits = Limits(
            options.min_candidates_percentage, options.min_candidates, options.max_candidates
        )
        nodes = CurableNodes(session, remember=options.predicate_error_cache)
        _Preemption(session, nodes, limits if options.topology_aware else None).run()


class _Preemption:
    def __init__(self, session: Session, nodes: CurableNodes, limits: Limits | None) -> None:
        self._session = session
        self._nodes = nodes
        self._limits = limits
        self._evictable = EvictableByQueue(session, PREEMPTABLE_STATUSES)
        self._foresight = QueueLookahead(session) if session.uses("victims") else None
        self._nobody = Evictable(session, (), lambda task: False)
        self._promising = ReachableNodes(session)
        self._claimants: dict[str, JobHeap] = {}
        self._starving: dict[str, list[Job]] = {}

    def run(self) -> None:
        session = self._session
        for job in session.jobs.values():
            with session.turn(job):
                self._collect(job)
        queues = session.order.queue_heap(session.queues[name] for name in self._claimants)
        while queues:
            queue = queues.pop()
            jobs = self._claimants[queue.name]
            while jobs:
                job = jobs.pop()
                with session.turn(job):
                    self._between_jobs(job)
            for job in self._starving[queue.name]:
                with session.turn(job):
                    self._inside_job(job)

    def _collect(self, job: Job) -> None:
        session = self._session
        if (
            not session.ask.job_starving(job)
            or not may_claim(session, job)
            or job.has_network_topology
        ):
            return
        if job.queue not in self._claimants:
            self._claimants[job.queue] = session.order.job_heap(evicting=True)
            self._starving[job.queue] = []
        self._claimants[job.queue].push(job)
        self._starving[job.queue].append(job)

    def _between_jobs(self, job: Job) -> None:
        session = self._session
        with session.statement() as statement:
            for task in pending_tasks(session, job):
                if not session.ask.job_starving(job):
                    break
                # Nobody is to be left out of the queue's tasks, as a rule: then none is looked at.
                picky = task.best_effort or job.count(*PREEMPTABLE_STATUSES)
                accepts = of_other_jobs(task) if picky else None
                self._preempt(statement, _Claim(task, accepts, self._evictable.of(job.queue)))
            if session.ask.job_pipelined(job):
                statement.commit()

    def _inside_job(self, job: Job) -> None:
        session = self._session
        jobs = [job] if job.count(*PREEMPTABLE_STATUSES) else []
        for task in pending_tasks(session, job):
            evictable = Evictable(session, jobs, of_same_job(task)) if jobs else self._nobody
            claim = _Claim(task, None, evictable)
            with session.statement() as statement:
                if not self._preempt(statement, claim):
                    return
                statement.commit()

    def _preempt(self, statement: Statement, claim: _Claim) -> bool:
        """Make room for one task on one node."""
        session, task = self._session, claim.task
        if (
            task.pod.preemption_policy == "Never"
            or session.queries.prepare(task) is not None
            or awaits_nominated_node(session, task)
        ):
            return False
        promising = self._promising.mask(task.vector, claim.evictable)
        for group in self._nodes.groups(task):
            rows = group[promising[group]]
            if not len(rows):
                continue
            if self._limits is not None:
                wanted = self._limits.wanted(len(group))
                done = self._on_best_candidate(statement, claim, rows, wanted)
            else:
                done = self._on_best_node(statement, claim, group, promising)
            if done:
                return True
        return False

    def _on_best_node(
        self, statement: Statement, claim: _Claim, rows: np.ndarray, promising: np.ndarray
    ) -> bool:
        queries, task = self._session.queries, claim.task
        queue = self._session.queues[task.queue]
        # All nodes that passed take part in the scores, which may be relative to each other.
        scores = queries.scores(task, rows)
        chosen = promising[rows]
        fits_anyway: np.ndarray | None = None
        queue_full: bool | None = None
        for row in best_first(rows[chosen], scores[chosen]):
            candidates = claim.candidates_on(row)
            victims = self._session.ask.preemptable(task, candidates) if candidates else []
            if not victims:
                if fits_anyway is None:
                    fits_anyway = queries.fits_future(task)
                if not fits_anyway[row]:
                    continue
            if queue_full is None:
                queue_full = not self._session.ask.allocatable(queue, task)
            if (
                queue_full
                and self._foresight is not None
                and self._foresight.hopeless(queue, task, row, victims)
            ):
                continue
            if self._on_node(statement, task, row, queue, victims):
                return True
        return False

    def _on_node(
        self, statement: Statement, task: Task, row: int, queue: Queue, victims: list[Task]
    ) -> bool:
        session, nodes = self._session, self._session.nodes
        needed = Needed(task.vector)
        if not needed.fits(sum((victim.vector for victim in victims), nodes.future_idle[row])):
            return False

        def fits() -> bool:
            return (
                session.ask.allocatable(queue, task)
                and needed.fits(nodes.future_idle[row])
                and session.queries.predicate(task, row) is None
            )

        with session.statement() as trial:
            evicted = evict_until(session, trial, task, victims, fits, "preempt")
            if evicted is None:
                return False
            weighty = any(not victim.best_effort for victim in evicted)
            if trial.pipeline(task, row, eviction_occurred=weighty) is not None:
                return False
            statement.merge(trial)
        return True

    def _on_best_candidate(
        self, statement: Statement, claim: _Claim, rows: np.ndarray, wanted: int
    ) -> bool:
        session, task = self._session, claim.task
        best = best_candidate(session, task, rows, claim.candidates_on, wanted)
        if best is None:
            return False
        with session.statement() as trial:
            for victim in best.victims:
                trial.evict(victim, "preempt", claimant=task.job)
            if trial.pipeline(task, best.row, eviction_occurred=True) is not None:
                return False
            statement.merge(trial)
        return True


class _Claim(NamedTuple):
    """A task that room is sought for, and from whom it may be taken."""

    task: Task
    accepts: Accepts | None
    """Which of the prey may be taken; None: all."""
    evictable: Evictable

    def candidates_on(self, row: int) -> list[Task]:
        tasks, accepts = self.evictable.tasks[row], self.accepts
        return tasks if accepts is None else [task for task in tasks if accepts(task)]
