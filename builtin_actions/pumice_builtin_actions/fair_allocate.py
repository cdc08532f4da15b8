"""Place pending jobs on idle resources in the order of the queue tree, without evictions."""

from __future__ import annotations

from pumice import Action, Job, Session, SingleTasks, Task, TaskStatus
from pumice.gang import has_pending
from pumice.solver import GangPlacer, Prospects, QueueDepthOptions, QueueTree
from pumice_builtin_actions.solver_jobs import waiting_jobs


class FairAllocate(Action):
    """KAI's allocate: a job gets its minimum at once, then grows task by task.

    If one task of a gang's minimum must wait for a release, all its tasks are pipelined. A job that
    grew is put back into the order, so that elastic jobs of different queues grow alternately.
    """

    allocates = True
    needs_pending = True
    reads_fit_errors = False

    class Options(QueueDepthOptions):
        """See :class:`QueueDepthOptions`."""

    def execute(self, session: Session) -> None:
        placer = GangPlacer(session)
        singles = SingleTasks(session, among_future=True)
        waiting = waiting_jobs(session)
        for job in waiting:
            if job.is_pending:
                job.phase = "Inqueue"
        tree = QueueTree(session, waiting, depth=self.options.queue_depth, placing=True)
        prospects = Prospects(session, tree, gives_lost=session.reads_fit_errors)
        turn = session.turn()
        for job in prospects:
            more, turn.job = False, job
            with turn:
                more = not _place_single(session, singles, job) and _grow(session, placer, job)
            if more:
                prospects.put_back(job)
            elif singles.nowhere:
                prospects.lose(job, for_now=True)


def _place_single(session: Session, singles: SingleTasks, job: Job) -> bool:
    """Place the only task of a job that may go anywhere; False: its turn is not over."""
    task = singles.task_of(job)
    if task is None:
        return False
    ask, tasks = session.ask, [task]
    ask.pre_job_allocation(job)
    if ask.is_job_over_queue_capacity(job, tasks) is not None:
        return False
    if not _may_go_anywhere(session, job, tasks):
        return False
    if not singles.place(task):
        return singles.nowhere
    if task.status is not TaskStatus.PENDING:
        job.last_start = session.now
    return True


def _may_go_anywhere(session: Session, job: Job, tasks: list[Task]) -> bool:
    """Whether the topology of a job with one task leaves it all nodes."""
    group = job.sub_group_root
    if group is None:
        return not job.has_hard_topology
    if group.sets or len(group.pod_sets) != 1:
        return False
    pod_set, every = job.sub_jobs[group.pod_sets[0].uid], session.nodes.all_rows
    pod_sets, subset_nodes = {pod_set.name: pod_set}, session.ask.subset_nodes
    for part in (group, pod_set):
        subsets = subset_nodes(job, part, pod_sets, tasks, every)
        if len(subsets) != 1 or subsets[0] is not every:
            return False
    return True


def _grow(session: Session, placer: GangPlacer, job: Job) -> bool:
    """Place the job's next batch; whether it may want another."""
    was_running = job.allocated_count > 0
    with session.statement() as statement:
        if not placer.place(statement, job, None, simulate=False):
            return False
        waits = _must_wait(job)
        if waits and statement.pipeline_allocated(job) is not None:
            return False
        if not session.evictions.outlasts_releases(job):
            return False
        complete = statement.commit()
    if not waits and not was_running and job.allocated_count:
        job.last_start = session.now
    return complete and has_pending(job)


def _must_wait(job: Job) -> bool:
    """Whether a pod set reaches its minimum only with pipelined tasks."""
    return any(
        pod_set.waiting_count and pod_set.allocated_count < pod_set.min_available
        for pod_set in job.sub_jobs.values()
    )
