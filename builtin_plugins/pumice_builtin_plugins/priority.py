"""Order by priority; lower priority is preempted."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import EvictionContext, EvictionKind, Job, Plugin, SubJob, Task, TaskStatus, hookimpl

_PIPELINED = TaskStatus.PIPELINED


class Priority(Plugin):
    """Order by priority class; victims have strictly lower priority than their preemptor."""

    @hookimpl
    def task_order(self, left: Task, right: Task) -> int:
        return right.priority - left.priority

    @hookimpl
    def task_order_key(self, task: Task) -> int:
        return -task.priority

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return right.priority - left.priority

    @hookimpl
    def job_order_key(self, job: Job) -> int:
        return -job.priority

    @hookimpl
    def sub_job_order(self, left: SubJob, right: SubJob) -> int:
        return right.priority - left.priority

    @hookimpl
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        preemptor_job = preemptor.job
        victims = []
        for task in candidates:
            if preemptor_job is None or task.job is None:
                continue
            if task.job is preemptor_job:
                lower = task.priority < preemptor.priority
            else:
                lower = task.job.priority < preemptor_job.priority
            if lower:
                victims.append(task)
        return victims

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        if context.kind is EvictionKind.GANG_RECLAIM:
            return candidates
        assert context.job is not None
        priority = context.job.priority
        return [t for t in candidates if t.job is not None and t.job.priority < priority]

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return job.ready_count + len(job.by_status[_PIPELINED]) < len(job.tasks)
