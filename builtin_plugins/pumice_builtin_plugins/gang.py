"""Gang scheduling: all of a job's minAvailable tasks start together, or none does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pumice import (
    ALLOCATED_STATUSES,
    PERMIT,
    REJECT,
    EvictionContext,
    Job,
    Members,
    Plugin,
    PluginEntry,
    Policy,
    Refusal,
    SubJob,
    Task,
    TaskStatus,
    VoteDetails,
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

_PENDING, _PIPELINED, _RUNNING = (
    TaskStatus.PENDING,
    TaskStatus.PIPELINED,
    TaskStatus.RUNNING,
)


class Gang(Plugin):
    """Gang scheduling: minAvailable of a job, of its roles and of its sub-jobs.

    As in Volcano only the job's own minAvailable is protected against eviction, not its roles'.
    """

    @classmethod
    def cautions(cls, entry: PluginEntry, policy: Policy) -> Iterator[str]:
        actions = [a.name for a in policy.actions if "preemptable" in a.cls.needs]
        voters = next((tier for tier in policy.voters("preemptable") if entry in tier), ())
        if not actions or not voters:
            return
        others = [other.name for other in voters if other is not entry]
        agree = f" and {', '.join(others)} must agree" if others else ""
        yield (
            f"{entry.name} answers preemptable, so {', '.join(actions)} evicts only tasks above "
            f"their job's minimum{agree}: a job that runs at its minimum is never preempted; "
            'disable = ["preemptable"] allows it to evict whole jobs'
        )

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

    # -- order and readiness

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
        pipelined = roles_pipelined(job) and sub_jobs_pipelined(job) and job.is_pipelined()
        return PERMIT if pipelined else REJECT

    @hookimpl
    def sub_job_pipelined(self, sub_job: SubJob) -> int:
        return PERMIT if sub_job.is_pipelined() else REJECT

    @hookimpl
    def job_starving(self, job: Job) -> bool:
        return job.is_starving()

    # -- victims

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _above_minimum(candidates)

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _above_minimum(candidates)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        return candidates

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point in ("preemptable", "reclaimable"):
            job = args[1][0].job
            if job is None:
                return None
            ready, minimum = job.ready_count, job.min_available
            text = f"of job {job.uid} {ready} run and {minimum} must, so that it can spare none"
            if ready > minimum:
                text = f"of job {job.uid} {ready} run and {minimum} must: others can be spared"
            return VoteDetails(text, {"ready": ready, "minAvailable": minimum})
        if point in ("job_starving", "job_pipelined", "job_ready"):
            job = args[0]
            waiting = job.count(_PIPELINED)
            text = f"ready {job.ready_count}, pipelined {waiting}, minAvailable {job.min_available}"
            numbers = {"ready": job.ready_count, "pipelined": waiting}
            return VoteDetails(text, {**numbers, "minAvailable": job.min_available})
        return None

    # -- conditions

    @hookimpl
    def on_session_close(self) -> None:
        gives_reasons = self.session.gives_reasons
        for job in self.session.jobs.values():
            # Without reasons, only the phase of a job that runs tells by its conditions.
            if not job.tasks or not (gives_reasons or job.by_status[_RUNNING]):
                continue
            if job.is_ready():
                self._set_condition(job, "Scheduled", "tasks in gang are ready to be scheduled", "")
            elif not _is_releasing(job):
                text = _unschedulable_text(job) if gives_reasons else ""
                self._set_condition(job, "Unschedulable", "NotEnoughResources", text)

    def _set_condition(self, job: Job, kind: str, reason: str, message: str) -> None:
        if job.conditions:
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


def _above_minimum(candidates: Sequence[Task]) -> list[Task]:
    """Of each job as many candidates as it has ready tasks beyond minAvailable."""
    taken: dict[str, int] = {}
    victims = []
    for task in candidates:
        job = task.job
        if job is None:
            continue
        surplus = job.ready_count - job.min_available
        if surplus > 0:
            count = taken.get(job.uid, 0)
            if count < surplus:
                taken[job.uid] = count + 1
                victims.append(task)
    return victims


def _unready_first(left: Members, right: Members) -> int:
    return left.is_ready() - right.is_ready()


def _is_releasing(job: Job) -> bool:
    """Whether the job is unready only because scheduled tasks are releasing."""
    releasing = job.releasing_scheduled_count
    waiting = job.count(_PENDING, _PIPELINED)
    return bool(releasing and not waiting and job.scheduled_count + releasing >= job.min_available)


def _unschedulable_text(job: Job) -> str:
    # Pending tasks that a discarded statement had allocated count as schedulable.
    allocated_before = sum(
        1
        for task in job.having(_PENDING)
        if task.last_transaction is not None and task.last_transaction.status in ALLOCATED_STATUSES
    )
    unready = job.min_available - allocated_before - job.ready_count
    return f"{unready}/{len(job.tasks)} tasks in gang unschedulable: {fit_error_text(job)}"
