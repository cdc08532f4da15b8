"""What a queue would hold if a victim were spared."""

from __future__ import annotations

from pumice import ACTIVE_STATUSES, EvictionContext, EvictionKind, Task, TaskStatus

RECLAIM_KINDS = (EvictionKind.TASK_RECLAIM, EvictionKind.GANG_RECLAIM)
"""The evictions for a job of another queue."""


def returned_with(task: Task, context: EvictionContext) -> list[Task]:
    """The victims of a plan that its queue would have again if the task were spared.

    None while it is not evicted yet. Where nothing of its gang is left, the gang's minimum would
    return with it.
    """
    if task.status is not TaskStatus.RELEASING:
        return []
    job = task.job
    if job is None or context.victims == (task,) or job.count(*ACTIVE_STATUSES):
        return [task]
    gang = [victim for victim in context.victims if victim.job is job]
    core = gang[-max(job.min_available, 1) :]
    return core if any(victim is task for victim in core) else [task, *core]
