"""Order by priority; lower priority is preempted."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from pumice import (
    EvictionContext,
    EvictionKind,
    Job,
    Plugin,
    SubJob,
    Task,
    TaskStatus,
    VoteDetails,
    hookimpl,
)

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

    def preemptor_key(self, preemptor: Task) -> Hashable:
        return None if preemptor.job is None else preemptor.job.priority

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        if context.kind is EvictionKind.GANG_RECLAIM:
            return candidates
        assert context.job is not None
        priority = context.job.priority
        return [t for t in candidates if t.job is not None and t.job.priority < priority]

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point == "job_starving":
            job = args[0]
            placed = job.ready_count + len(job.by_status[_PIPELINED])
            return VoteDetails(
                f"{placed} of {len(job.tasks)} tasks have a node", {"placed": placed}
            )
        if point not in ("preemptable", "unified_evictable"):
            return None
        subject, victim = args[0], args[1][0].job
        if victim is None or subject.job is None:
            return None
        own, other = subject.job.priority, victim.priority
        if victim is subject.job and isinstance(subject, Task):
            own, other = subject.priority, args[1][0].priority
        text = f"its priority {other} is not below {own}"
        return VoteDetails(text, {"priority": own, "of the victim": other})

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return job.ready_count + len(job.by_status[_PIPELINED]) < len(job.tasks)
