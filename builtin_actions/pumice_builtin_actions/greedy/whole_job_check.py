"""Jobs that need what only the actions that place whole jobs can do."""

from __future__ import annotations

from pumice import Job, Refusal, TaskStatus

_GPU_FRACTION = Refusal(
    "NeedsWholeJobs", "GPU fractions are placed by fair_allocate and the solver's actions only"
)
_TOPOLOGY = Refusal(
    "NeedsWholeJobs",
    "its topology constraint is honoured by fair_allocate and the solver's actions only",
)


def whole_job_refusal(job: Job) -> Refusal | None:
    """Why a job cannot be placed task by task; None: it can."""
    if job.sub_group_root is None:
        return None
    if any(task.gpu.shared for task in job.by_status[TaskStatus.PENDING].values()):
        return _GPU_FRACTION
    return _TOPOLOGY if job.sub_group_root.is_constrained else None
