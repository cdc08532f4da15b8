"""Allocate: place pending jobs on idle resources, queue by queue, job by job."""

from __future__ import annotations

from pumice import ROOT, Action, Job, JobHeap, Queue, Session, SingleTasks, Task, TaskStatus
from pumice_builtin_actions.greedy.hypernode_search import HypernodeSearch, record_hyper_nodes
from pumice_builtin_actions.greedy.options import ErrorCacheOptions
from pumice_builtin_actions.greedy.pending_work import PendingWork, pending_work
from pumice_builtin_actions.greedy.placement import Placement
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.whole_job_check import whole_job_refusal

_PENDING = TaskStatus.PENDING


class Allocate(Action):
    """Place the minimum of each pending job, then one task at a time, in queue and job order.

    A job that reaches its minimum only with pipelined tasks holds their nodes for the rest of the
    cycle, and nothing of it is bound. A job that cannot reach its minimum is rolled back.
    """

    shortcuts = (VICTIMS,)

    allocates = True
    needs_pending = True

    class Options(ErrorCacheOptions):
        """See :class:`ErrorCacheOptions`."""

    def execute(self, session: Session) -> None:
        placement = Placement(session, error_cache=self.options.predicate_error_cache)
        _Allocation(session, placement).run()


class _Allocation:
    def __init__(self, session: Session, placement: Placement) -> None:
        self._session = session
        self._placement = placement
        self._search = HypernodeSearch(session, placement)
        self._work: dict[str, PendingWork] = {}
        self._waiting: dict[str, JobHeap] = {}
        self._singles = SingleTasks(session, is_ready=session.ask.job_ready)
        self._single: dict[str, Task] = {}
        """By job: its only task, until the common way is needed for it."""

    def run(self) -> None:
        session, turn = self._session, self._session.turn()
        passes_pending = session.admits_jobs and not session.records_reasons
        for job in session.jobs.values():
            if passes_pending and job.is_pending:
                continue
            turn.job = job
            with turn:
                self._collect(job)
        queues = session.order.queue_heap(session.queues[name] for name in self._waiting)
        while queues:
            queue = queues.pop()
            jobs = self._waiting[queue.name]
            if not jobs:
                continue
            job = jobs.pop()
            overused = more = False
            turn.job = job
            with turn:
                overused = session.ask.overused(queue)
                more = not overused and self._serve(queue, job)
            if overused:
                text = f"queue {queue.name} is skipped, because it holds all that it deserves"
                session.note_queue(queue, "QueueOverused", text)
                continue
            if more:
                jobs.push(job)
            # Pushed after every job, so that the queue order is evaluated again.
            queues.push(queue)

    def _collect(self, job: Job) -> None:
        session = self._session
        if job.is_pending:
            # Volcano admits a pending job here if the policy does not run enqueue.
            if session.admits_jobs:
                return
            job.phase = "Inqueue"
        if session.ask.job_valid(job) is not None:
            return
        refusal = whole_job_refusal(job)
        if refusal is not None:
            job.refusals.append(refusal)
            return
        if not job.by_status[_PENDING]:
            return
        if not session.hyper_nodes.ready and job.has_network_topology:
            return
        task = self._single_task(job)
        if task is not None:
            self._single[job.uid] = task
        else:
            work = pending_work(session, job)
            if not work:
                return
            self._work[job.uid] = work
        heap = self._waiting.get(job.queue)
        if heap is None:
            heap = self._waiting[job.queue] = session.order.job_heap()
        heap.push(job)

    def _single_task(self, job: Job) -> Task | None:
        """The only task of a job that wants nothing but a node for it."""
        task = self._singles.task_of(job)
        if task is None or task.role or job.has_sub_job_policy or job.has_network_topology:
            return None
        return task

    def _serve_single(self, queue: Queue, task: Task) -> bool:
        """Place the only task of a job; False: its turn is not over."""
        sub_job = task.sub_job
        if sub_job is None or sub_job.nominated_hyper_node:
            return False
        if not self._session.ask.allocatable(queue, task):
            return False
        return self._singles.place(task) or self._singles.nowhere

    def _serve(self, queue: Queue, job: Job) -> bool:
        """Place tasks of a job; returns whether it has more to place after a commit."""
        single = self._single.pop(job.uid, None)
        if single is not None:
            if self._serve_single(queue, single):
                return False
            self._work[job.uid] = pending_work(self._session, job)
        if job.has_hard_topology or job.has_sub_job_policy:
            return self._serve_by_hypernode(job)
        session, pending = self._session, self._work[job.uid].only
        with session.statement() as statement:
            nominated = pending.sub_job.nominated_hyper_node
            if not (nominated and self._search.place_nominated(statement, pending)) and not (
                self._placement.place(statement, pending, ROOT)
            ):
                return False
            if not session.ask.job_ready(job):
                statement.keep()
                return False
            statement.commit()
            pending.sub_job.nominated_hyper_node = ""
        return bool(pending.tasks)

    def _serve_by_hypernode(self, job: Job) -> bool:
        session = self._session
        with session.statement() as statement:
            remaining = self._search.place_job(statement, job, self._work[job.uid])
            if remaining is None:
                return False
            self._work[job.uid] = remaining
            if not session.ask.job_ready(job):
                statement.keep()
                return False
            statement.commit()
            record_hyper_nodes(session, job)
        return bool(remaining.order)
