"""All or nothing: a job runs when its minimum is placed, and is never cut below it."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import (
    ALLOCATED_STATUSES,
    PERMIT,
    REJECT,
    EvictionContext,
    Job,
    Members,
    Plugin,
    Refusal,
    SubJob,
    Task,
    TaskStatus,
    fit_error_text,
    hookimpl,
)
from pumice.gang import (
    roles_pipelined,
    roles_ready,
    roles_valid,
    sub_jobs_pipelined,
    sub_jobs_ready,
    sub_jobs_valid,
)

_S = TaskStatus


class Gang(Plugin):
    """Gang scheduling: minimum members of a job, of its roles and of its sub-jobs.

    Protects the job's own minimum against eviction; not those of roles.
    """

    @hookimpl
    def job_valid(self, job: Job) -> Refusal | None:
        if not roles_valid(job):
            return Refusal("NotEnoughPodsOfTask", "Not enough valid pods of each task for gang")
        if not sub_jobs_valid(job):
            return Refusal("NotEnoughPodsOfTask", "Not enough valid subGroups for gang")
        valid = job.valid_count
        if valid < job.min_available:
            return Refusal(
                "NotEnoughTasks",
                f"Not enough valid tasks for gang-scheduling, valid: {valid}, "
                f"min: {job.min_available}",
            )
        return None

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return self._above_minimum(candidates)

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return self._above_minimum(candidates)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        return candidates

    @staticmethod
    def _above_minimum(candidates: Sequence[Task]) -> list[Task]:
        left: dict[str, int] = {}
        allowed = []
        for task in candidates:
            job = task.job
            if job is None:
                continue
            members = left.setdefault(job.uid, job.ready_count)
            if members > job.min_available:
                left[job.uid] = members - 1
                allowed.append(task)
        return allowed

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return _unready_first(left, right)

    @hookimpl
    def job_order_key(self, job: Job) -> bool:
        return job.is_ready()

    @hookimpl
    def sub_job_order(self, left: SubJob, right: SubJob) -> int:
        return _unready_first(left, right)

    @hookimpl
    def job_ready(self, job: Job) -> bool:
        return job.is_ready() and roles_ready(job) and sub_jobs_ready(job)

    @hookimpl
    def sub_job_ready(self, sub_job: SubJob) -> bool:
        return sub_job.is_ready()

    @hookimpl
    def job_pipelined(self, job: Job) -> int:
        held = roles_pipelined(job) and sub_jobs_pipelined(job) and job.is_pipelined()
        return PERMIT if held else REJECT

    @hookimpl
    def sub_job_pipelined(self, sub_job: SubJob) -> int:
        return PERMIT if sub_job.is_pipelined() else REJECT

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return job.is_starving()

    @hookimpl
    def on_session_close(self) -> None:
        for job in self.session.jobs.values():
            if not job.tasks:
                continue
            if job.is_ready():
                self._set_condition(job, "Scheduled", "tasks in gang are ready to be scheduled", "")
            elif not _is_leaving(job):
                self._set_condition(
                    job, "Unschedulable", "NotEnoughResources", _unschedulable_text(job)
                )

    def _set_condition(self, job: Job, kind: str, reason: str, message: str) -> None:
        job.conditions = [c for c in job.conditions if c.get("type") != kind]
        job.conditions.append(
            {
                "type": kind,
                "status": "True",
                "transitionID": self.session.uid,
                "reason": reason,
                "message": message,
            }
        )


def _unready_first(left: Members, right: Members) -> int:
    return left.is_ready() - right.is_ready()


def _is_leaving(job: Job) -> bool:
    """Whether the job is short only because tasks that had a place are going."""
    leaving = job.releasing_scheduled_count
    waiting = job.count(_S.PENDING, _S.PIPELINED)
    return bool(leaving and not waiting and job.scheduled_count + leaving >= job.min_available)


def _unschedulable_text(job: Job) -> str:
    on_trial = sum(
        1
        for task in job.having(_S.PENDING)
        if task.last_transaction is not None and task.last_transaction.status in ALLOCATED_STATUSES
    )
    unready = job.min_available - on_trial - job.ready_count
    return f"{unready}/{len(job.tasks)} tasks in gang unschedulable: {fit_error_text(job)}"
