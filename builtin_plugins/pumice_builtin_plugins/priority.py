"""Higher priority first, and lower priority makes room."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import EvictionContext, EvictionKind, Job, Plugin, SubJob, Task, hookimpl


class Priority(Plugin):
    """Order by priority class; victims must rank strictly lower than who they make room for."""

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
        claimant = preemptor.job
        allowed = []
        for task in candidates:
            if claimant is None or task.job is None:
                continue
            if task.job is claimant:
                lower = task.priority < preemptor.priority
            else:
                lower = task.job.priority < claimant.priority
            if lower:
                allowed.append(task)
        return allowed

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        if context.kind is EvictionKind.GANG_RECLAIM:
            return candidates
        ceiling = context.job.priority
        return [t for t in candidates if t.job is not None and t.job.priority < ceiling]

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return job.ready_count + job.waiting_count < len(job.tasks)
