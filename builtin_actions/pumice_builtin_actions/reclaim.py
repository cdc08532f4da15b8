"""Take back from other queues what a starving queue deserves."""

from __future__ import annotations

from pydantic import Field

from pumice import Action, Job, LiveHeap, Queue, Session, Statement, Task, TaskStatus
from pumice_builtin_actions.greedy.eviction import (
    CurableNodes,
    evict_until,
    pending_tasks,
    starving_jobs,
)
from pumice_builtin_actions.greedy.reachable_nodes import ReachableNodes
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.victims import Accepts, EvictableByQueue, Needed, of_other_queues


class Reclaim(Action):
    """Evict running tasks of other queues for the starving jobs of a queue.

    Nodes are tried in order, without scores. A node that holds nobody to reclaim from is passed
    over even when it has room. What was evicted for a job counts only if the job's minimum is
    then promised; otherwise all of it is taken back.
    """

    shortcuts = (VICTIMS,)

    evicts = True
    needs = ("job_starving", "reclaimable")

    class Options(Action.Options):
        predicate_error_cache: bool = Field(
            True,
            alias="predicateErrorCacheEnable",
            description="Accepted for compatibility: each task is asked about all nodes.",
        )

    def execute(self, session: Session) -> None:
        _Reclaiming(session).run()


class _Reclaiming:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._nodes = CurableNodes(session, remember=False)
        self._evictable = EvictableByQueue(session, [TaskStatus.RUNNING])
        self._starving = starving_jobs(session)
        self._promising = ReachableNodes(session)

    def run(self) -> None:
        session = self._session
        queues = session.order.queue_heap(session.queues[name] for name in self._starving)
        while queues and any(self._starving.values()):
            self._serve_queue(queues.pop(), queues)

    def _serve_queue(self, queue: Queue, queues: LiveHeap[Queue]) -> None:
        """Serve all jobs of a queue; whether it is overused is asked once, before the first."""
        session, jobs = self._session, self._starving[queue.name]
        asked = False
        while jobs:
            job = jobs.pop()
            with session.turn(job):
                if not asked and session.ask.overused(queue):
                    return
                asked = True
                self._serve(job, queue)
            if jobs:
                # Nobody is left when it comes up again; but a push puts the heap in order anew.
                queues.push(queue)

    def _serve(self, job: Job, queue: Queue) -> None:
        session, ask = self._session, self._session.ask
        tasks = pending_tasks(session, job)
        accepts = of_other_queues(session, job)
        with session.statement() as statement:
            for task in tasks:
                if not ask.job_starving(job):
                    break
                if (
                    task.pod.preemption_policy != "Never"
                    and ask.preemptive(queue, [task])
                    and session.queries.prepare(task) is None
                ):
                    self._reclaim_for(statement, task, accepts)
            if ask.job_pipelined(job):
                statement.commit()

    def _reclaim_for(self, statement: Statement, task: Task, accepts: Accepts) -> bool:
        evictable, own = self._evictable.reclaimable(), None
        someone = evictable.count > 0
        if self._session.queues[task.queue].reclaimable:
            own = self._evictable.of(task.queue)
            someone = evictable.count > own.count
        promising = self._promising.mask(task.vector, evictable, own) & someone
        for group in self._nodes.groups(task):
            for row in group[promising[group]].tolist():
                candidates = [victim for victim in evictable.tasks[row] if accepts(victim)]
                if self._reclaim_on(statement, task, row, candidates):
                    return True
        return False

    def _reclaim_on(
        self, statement: Statement, task: Task, row: int, candidates: list[Task]
    ) -> bool:
        session, nodes = self._session, self._session.nodes
        victims = session.ask.reclaimable(task, candidates)
        needed = Needed(task.vector)
        if not needed.fits(sum((victim.vector for victim in victims), nodes.future_idle[row])):
            return False
        with session.statement() as trial:
            evicted = evict_until(
                session,
                trial,
                task,
                victims,
                lambda: needed.fits(nodes.future_idle[row]),
                "reclaim",
            )
            if evicted is None:
                return False
            if trial.pipeline(task, row, eviction_occurred=bool(evicted)) is not None:
                return False
            statement.merge(trial)
        return True
