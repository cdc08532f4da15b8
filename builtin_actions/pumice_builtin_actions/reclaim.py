"""Reclaim: take back from other queues what a starving queue deserves."""

from __future__ import annotations

import numpy as np

from pumice import Action, Job, LiveHeap, Queue, RequestFit, Session, Statement, Task, TaskStatus
from pumice_builtin_actions.greedy.eviction import (
    ResolvableNodes,
    evict_until,
    fits_without,
    is_never_preempting,
    note_undone,
    pending_tasks,
    skip_overused,
    starving_jobs,
    takes_task,
)
from pumice_builtin_actions.greedy.failure import Attempt, note_failure
from pumice_builtin_actions.greedy.options import IgnoredErrorCacheOptions
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.repeated_failure import RepeatedFailure
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.victims import EvictableByQueue


class Reclaim(Action):
    """Evict running tasks of other queues for the starving jobs of a queue.

    Nodes are tried in order, without scores. A node without reclaimable tasks is skipped even when
    the task would fit there. The evictions for a job are committed only if its minimum is then
    pipelined; otherwise all of them are rolled back.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs_pending = True
    needs = ("job_starving", "reclaimable")

    class Options(IgnoredErrorCacheOptions):
        """See :class:`IgnoredErrorCacheOptions`."""

    def execute(self, session: Session) -> None:
        _Reclaiming(session).run()


class _Reclaiming:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._nodes = ResolvableNodes(session, remember=False)
        self._evictable = EvictableByQueue(session, [TaskStatus.RUNNING])
        self._starving = starving_jobs(session)
        self._reachable = ReachableNodes(session)
        self._last_failure = RepeatedFailure(session)

    def run(self) -> None:
        session = self._session
        queues = session.order.queue_heap(session.queues[name] for name in self._starving)
        while queues and any(self._starving.values()):
            self._serve_queue(queues.pop(), queues)

    def _serve_queue(self, queue: Queue, queues: LiveHeap[Queue]) -> None:
        """Serve all jobs of a queue."""
        session, jobs = self._session, self._starving[queue.name]
        asked = False
        while jobs:
            job = jobs.pop()
            with session.turn(job):
                # Volcano asks once per queue, not per job; conformance pins it.
                if not asked and session.ask.overused(queue):
                    skip_overused(session, queue, [job, *jobs])
                    return
                asked = True
                self._serve(job, queue)
            if jobs:
                # The queue has no jobs left when it is popped again, but Volcano's push reorders
                # the heap of queues.
                queues.push(queue)

    def _serve(self, job: Job, queue: Queue) -> None:
        session, ask = self._session, self._session.ask
        tasks = pending_tasks(session, job)
        with session.statement() as statement:
            for task in tasks:
                if not ask.job_starving(job):
                    break
                if (
                    not is_never_preempting(session, task)
                    and self._is_entitled(queue, task)
                    and session.queries.prepare(task) is None
                    and not self._last_failure.covers(task)
                    and not self._reclaim_for(statement, task)
                ):
                    self._last_failure.record(task)
            if ask.job_pipelined(job):
                statement.commit()
            else:
                note_undone(session, job, statement)

    def _is_entitled(self, queue: Queue, task: Task) -> bool:
        entitled = self._session.ask.preemptive(queue, [task])
        if not entitled and task.job is not None:
            text = f"queue {queue.name} may not take from other queues for it"
            self._session.note(task.job, "NotEntitled", text)
        return entitled

    def _reclaim_for(self, statement: Statement, task: Task) -> bool:
        evictable, own = self._evictable.reclaimable(), None
        has_victims: np.ndarray = evictable.count > 0
        if self._session.queues[task.queue].reclaimable:
            own = self._evictable.of(task.queue)
            has_victims = evictable.count > own.count
        # Volcano skips a node without reclaimable tasks, even an idle one.
        worth_trying = self._reachable.mask(task.vector, evictable, own) & has_victims
        attempt = Attempt.of(self._session, task, worth_trying, evictable, own)
        if not np.count_nonzero(worth_trying):
            self._note_failure(task, attempt, bool(has_victims.any()))
            return False
        fit = RequestFit(task.vector)
        for group in self._nodes.groups(task):
            for row in group[worth_trying[group]].tolist():
                candidates = evictable.tasks[row]
                if own is not None and own.tasks[row]:
                    spared = set(own.tasks[row])
                    candidates = [victim for victim in candidates if victim not in spared]
                if self._reclaim_on(statement, task, fit, row, candidates, attempt):
                    return True
        self._note_failure(task, attempt, bool(has_victims.any()))
        return False

    def _note_failure(self, task: Task, attempt: Attempt, victims: bool) -> None:
        what = "running preemptable pod in another reclaimable queue"
        note_failure(self._session, task, attempt, victims=victims, what=what)

    def _reclaim_on(
        self,
        statement: Statement,
        task: Task,
        fit: RequestFit,
        row: int,
        candidates: list[Task],
        attempt: Attempt,
    ) -> bool:
        session, nodes = self._session, self._session.nodes
        assert task.job is not None
        evictable = session.evictions.evictable(task.job, candidates)
        victims = session.ask.reclaimable(task, evictable) if evictable else []
        attempt.voted(row, candidates, victims)
        if not fits_without(nodes, row, fit, victims):
            return False
        verified = session.evictions.settings.atomic

        def enough() -> bool:
            # Volcano asks neither allocatable nor the filters again after the evictions.
            return fit.fits(nodes.future_idle[row].tolist()) and (
                not verified or takes_task(session, task, row)
            )

        with session.statement() as trial:
            evicted = evict_until(session, trial, task, victims, enough, "reclaim")
            if evicted is None:
                return False
            occurred = bool(evicted)
            if trial.pipeline(task, row, eviction_occurred=occurred, verified=verified) is not None:
                return False
            statement.merge(trial)
        return True
