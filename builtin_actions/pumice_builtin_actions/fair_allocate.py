"""Place pending jobs on idle resources in the order of the queue tree, without evictions."""

from __future__ import annotations

from pumice import Action, Job, Session, SingleTasks, TaskStatus
from pumice.gang import has_pending
from pumice.solver import GangPlacer, QueueDepthOptions, QueueTree
from pumice_builtin_actions.solver_jobs import waiting_jobs


class FairAllocate(Action):
    """KAI's allocate: a job gets its minimum at once, then grows task by task.

    If one task of a gang's minimum must wait for a release, all its tasks are pipelined. A job that
    grew is put back into the order, so that elastic jobs of different queues grow alternately.
    """

    allocates = True
    needs_pending = True

    class Options(QueueDepthOptions):
        """See :class:`QueueDepthOptions`."""

    def execute(self, session: Session) -> None:
        placer = GangPlacer(session)
        singles = SingleTasks(session, among_future=True)
        waiting = waiting_jobs(session)
        for job in waiting:
            if job.is_pending:
                job.phase = "Inqueue"
        jobs = QueueTree(session, waiting, depth=self.options.queue_depth, placing=True)
        while jobs:
            job = jobs.pop()
            more = False
            with session.turn(job):
                more = not _place_single(session, singles, job) and _grow(session, placer, job)
            if more:
                jobs.push(job)


def _place_single(session: Session, singles: SingleTasks, job: Job) -> bool:
    """Place the only task of a job that may go anywhere; False: nothing was done."""
    task, group = singles.task_of(job), job.sub_group_root
    if task is None or group is None or group.sets or len(group.pod_sets) != 1:
        return False
    ask, tasks, every = session.ask, [task], session.nodes.all_rows
    ask.pre_job_allocation(job)
    if ask.is_job_over_queue_capacity(job, tasks) is not None:
        return False
    pod_set = job.sub_jobs[group.pod_sets[0].uid]
    pod_sets = {pod_set.name: pod_set}
    for part in (group, pod_set):
        subsets = ask.subset_nodes(job, part, pod_sets, tasks, every)
        if len(subsets) != 1 or subsets[0] is not every:
            return False
    if not singles.place(task):
        return False
    if task.status is not TaskStatus.PENDING:
        job.last_start = session.now
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
