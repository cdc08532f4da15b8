"""Place pending jobs on idle room, queue by queue, job by job."""

from __future__ import annotations

from pydantic import Field

from pumice import ROOT, Action, Job, JobHeap, Session
from pumice_builtin_actions.greedy.hypernode_search import HypernodeSearch, remember_decision
from pumice_builtin_actions.greedy.pending_work import PendingWork, make_worksheet
from pumice_builtin_actions.greedy.placement import Placement
from pumice_builtin_actions.greedy.shortcut import VICTIMS
from pumice_builtin_actions.greedy.whole_job_check import whole_job_need


class Allocate(Action):
    """Give pending jobs their minimum, then one task at a time, in the order of the policy.

    A job whose minimum is only promised (its room is still being freed) keeps that room for the
    rest of the cycle without being bound. A job that cannot reach its minimum leaves no trace.
    """

    shortcuts = (VICTIMS,)

    class Options(Action.Options):
        predicate_error_cache: bool = Field(
            True,
            alias="predicateErrorCacheEnable",
            description="A node that failed for one task is not asked again for its role.",
        )

    def execute(self, session: Session) -> None:
        placing = Placement(session, error_cache=self.options.predicate_error_cache)
        _Allocation(session, placing).run()


class _Allocation:
    def __init__(self, session: Session, placing: Placement) -> None:
        self._session = session
        self._placing = placing
        self._search = HypernodeSearch(session, placing)
        self._sheets: dict[str, PendingWork] = {}
        self._waiting: dict[str, JobHeap] = {}

    def run(self) -> None:
        session = self._session
        for job in session.jobs.values():
            with session.turn(job):
                self._collect(job)
        queues = session.order.queue_heap(session.queues[name] for name in self._waiting)
        while queues:
            queue = queues.pop()
            jobs = self._waiting[queue.name]
            if not jobs:
                continue
            job = jobs.pop()
            overused = more = False
            with session.turn(job):
                overused = session.ask.overused(queue)
                more = not overused and self._serve(job)
            if overused:
                continue
            if more:
                jobs.push(job)
            queues.push(queue)

    def _collect(self, job: Job) -> None:
        session = self._session
        if job.is_pending:
            if session.admits_jobs:
                return
            job.phase = "Inqueue"
        if session.ask.job_valid(job) is not None:
            return
        refusal = whole_job_need(job)
        if refusal is not None:
            job.refusals.append(refusal)
            return
        if not session.hyper_nodes.ready and job.has_network_topology:
            return
        sheet = make_worksheet(session, job)
        if sheet:
            self._sheets[job.uid] = sheet
            heap = self._waiting.get(job.queue)
            if heap is None:
                heap = self._waiting[job.queue] = session.order.job_heap()
            heap.push(job)

    def _serve(self, job: Job) -> bool:
        """Give a job its turn; tells whether it has more to place after a commit."""
        if job.has_hard_topology or job.has_sub_job_policy:
            return self._serve_divided(job)
        session, work = self._session, self._sheets[job.uid].plain
        with session.statement() as statement:
            nominated = work.sub_job.nominated_hyper_node
            if not (nominated and self._search.from_nomination(statement, work)) and not (
                self._placing.place(statement, work, ROOT)
            ):
                return False
            if not session.ask.job_ready(job):
                statement.keep()
                return False
            statement.commit()
            work.sub_job.nominated_hyper_node = ""
        return bool(work.tasks)

    def _serve_divided(self, job: Job) -> bool:
        session = self._session
        with session.statement() as statement:
            remaining = self._search.place_job(statement, job, self._sheets[job.uid])
            if remaining is None:
                return False
            self._sheets[job.uid] = remaining
            if not session.ask.job_ready(job):
                statement.keep()
                return False
            statement.commit()
            remember_decision(session, job)
        return bool(remaining.order)
