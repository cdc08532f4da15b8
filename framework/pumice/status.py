"""Job phases and reasons at the end of a cycle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pumice._times import timestamp
from pumice.decisions import JobState, PipelinedTask
from pumice.errors import PluginError
from pumice.explain.verdict import Verdict, verdict_of
from pumice.model.job import Job
from pumice.model.task import STATUS_LABELS, Task, TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session

_PENDING, _ALLOCATED, _PIPELINED, _RUNNING, _SUCCEEDED, _FAILED = (
    TaskStatus.PENDING,
    TaskStatus.ALLOCATED,
    TaskStatus.PIPELINED,
    TaskStatus.RUNNING,
    TaskStatus.SUCCEEDED,
    TaskStatus.FAILED,
)
_WAITING = "Waiting"
"""The type of the condition that says why a job waits."""
_SAID = ("status", "reason", "message")
"""What a condition says; if it is the same, the condition has not changed."""


def close(session: Session) -> None:
    """Close the session: plugins first, then phases, reasons and pipelined tasks."""
    objection = session.ask.on_session_close()
    if isinstance(objection, PluginError):
        session.report(objection)
    decisions, time = session.decisions, timestamp(session.now)
    for job in session.jobs.values():
        try:
            state = _state(session, job, time)
            if state is not None:
                decisions.jobs.append(state)
        except Exception as exc:  # what a plugin stored in the job is no condition or refusal
            decisions.jobs.append(_unreadable_state(session, job, exc))
        if job.by_status[_PIPELINED]:
            for task in job.having(_PIPELINED):
                session.pipelined.setdefault(task.uid, task)
    decisions.pipelined += [
        PipelinedTask(
            task.key,
            task.uid,
            task.node,
            task.eviction_occurred,
            task.gpu_groups,
            task.job.uid if task.job is not None else "",
        )
        for task in session.pipelined.values()
        if task.status is _PIPELINED
    ]
    if session.gives_reasons:
        decisions.task_states = {
            task.key: (STATUS_LABELS[task.status], task.node)
            for task in session.cluster.tasks.values()
        }


def _state(session: Session, job: Job, time: str) -> JobState | None:
    """The state of a job; None: nobody reads reasons, and there is nothing else to say."""
    if not session.gives_reasons:
        return _state_without_reason(session, job)
    verdict = verdict_of(session, job)
    job.phase = counted_phase(job)
    job.reason = verdict.text if verdict is not None else ""
    return JobState(
        job=job.uid,
        queue=job.queue,
        phase=shown_phase(job, session.uid),
        counted_phase=job.phase,
        ready=job.ready_count,
        pending=job.count(_PENDING),
        reason=job.reason,
        conditions=tuple(_conditions(session, job, verdict, time)),
        last_start=job.last_start,
        stale_since=job.stale_since,
        code=verdict.code if verdict is not None else "",
    )


def _state_without_reason(session: Session, job: Job) -> JobState | None:
    """The state of a job of which the pod group does not have it already."""
    job.phase = counted_phase(job)
    group, phase = job.group, shown_phase(job, session.uid)
    if (
        phase == group.phase
        and job.last_start == group.last_start
        and job.stale_since == group.stale_since
    ):
        return None
    return JobState(
        job=job.uid,
        queue=job.queue,
        phase=phase,
        counted_phase=job.phase,
        ready=job.ready_count,
        pending=job.count(_PENDING),
        reason="",
        last_start=job.last_start,
        stale_since=job.stale_since,
    )


def _conditions(
    session: Session, job: Job, verdict: Verdict | None, time: str
) -> Iterator[dict[str, Any]]:
    """The conditions of the job's pod group that this cycle sets, with its time.

    Plugins set conditions of their families' kinds; ``Waiting`` has the reason code. It is set
    again only when it changes, so that its time says since when.
    """
    for condition in job.conditions:
        yield {"lastTransitionTime": time, **condition}
    group = session.cluster.inventory.groups.get(job.uid)
    known = () if group is None else group.conditions
    before = next((one for one in known if one.get("type") == _WAITING), None)
    if verdict is None and (before is None or before.get("status") != "True"):
        return
    now = Verdict("NotWaiting", "") if verdict is None else verdict
    waiting = {
        "type": _WAITING,
        "status": "False" if verdict is None else "True",
        "transitionID": session.uid,
        "lastTransitionTime": time,
        "reason": now.code,
        "message": now.text,
    }
    if before is not None and all(before.get(key) == waiting[key] for key in _SAID):
        yield dict(before)
    else:
        yield waiting


def _unreadable_state(session: Session, job: Job, exc: Exception) -> JobState:
    """The state of a job in which a plugin or action stored something that cannot be used."""
    error = PluginError("conditions or refusals", "unknown", "unknown", exc, job=job.uid)
    error.__cause__ = exc
    session.report(error)
    return JobState(
        job.uid, job.queue, job.phase, job.ready_count, 0, str(error), code="PluginFault"
    )


def counted_phase(job: Job) -> str:
    """The phase that follows from the statuses of the job's tasks."""
    if 0 < len(job.tasks) == len(job.by_status[_PENDING]) and job.group.min_member > 0:
        return "Inqueue" if job.phase == "Inqueue" else "Pending"
    scheduled = job.scheduled_count + job.releasing_scheduled_count
    if scheduled >= job.group.min_member:
        return "Completed" if scheduled == job.count(_FAILED, _SUCCEEDED) else "Running"
    return "Inqueue" if job.phase == "Inqueue" else "Pending"


def shown_phase(job: Job, session_uid: str) -> str:
    """The phase as it is reported: Unknown for a running job that is Unschedulable now."""
    if not job.by_status[_RUNNING]:
        return job.phase
    unschedulable = any(
        condition.get("type") == "Unschedulable"
        and condition.get("status") == "True"
        and condition.get("transitionID") == session_uid
        for condition in job.conditions
    )
    return "Unknown" if unschedulable else job.phase


def eviction_reason(task: Task, claimant: Job | None, given: str, action: str) -> str:
    """Why a task is evicted, for people; written here if the action gave only its name."""
    job = task.job
    if given != action or claimant is None or job is None:
        return given
    if task.status is TaskStatus.PIPELINED:
        return f"moves to {task.node} to make room for {claimant.uid}"
    if job.queue != claimant.queue:
        return f"queue {claimant.queue} takes back room from queue {job.queue}"
    if job is claimant:
        return "a task of the same job goes first"
    if claimant.priority != job.priority:
        return f"priority {claimant.priority} goes before {job.priority}"
    return f"{claimant.uid} goes before {job.uid}"


def fit_error_text(job: Job) -> str:
    """The job's state in counts, then per pending task why, then the first task's details."""
    ready = "ready" if job.is_ready() else "not ready"
    counts = [
        f"{len(tasks)} {label}"
        for label, tasks in zip(STATUS_LABELS, job.by_status, strict=True)
        if tasks
    ]
    counts.append(f"{job.min_available} minAvailable")
    text = f"pod group is {ready}, {', '.join(sorted(counts))}"
    pending = job.by_status[_PENDING]
    if pending:
        reasons = Counter([_short_reason(_last_status(task)) for task in pending.values()])
        listed = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
        text = f"{text}; Pending: {listed}"
    failed = [task for uid in job.fit_errors if (task := job.tasks.get(uid)) is not None]
    if failed:
        first = min(failed, key=lambda task: task.name)
        return f"{text}. Origin reason is {first.name}: {job.fit_errors[first.uid]}"
    return text


def scheduling_reason(task: Task) -> tuple[str, str, str]:
    """(reason, message, nominated node) of one task that does not run."""
    last, status = task.last_transaction, _last_status(task)
    reason = _short_reason(status)
    node = last.node if last is not None else task.node
    evicted = last.eviction_occurred if last is not None else task.eviction_occurred
    match status:
        case TaskStatus.ALLOCATED:
            return (
                reason,
                f"Pod {task.key} can possibly be assigned to {node}, "
                "once minAvailable is satisfied",
                "",
            )
        case TaskStatus.PIPELINED:
            return (
                reason,
                f"Pod {task.key} can possibly be assigned to {node}, "
                "once resource is released and minAvailable is satisfied",
                node if evicted else "",
            )
        case TaskStatus.PENDING:
            errors = task.job.fit_errors.get(task.uid) if task.job is not None else None
            return (reason, "" if errors is None else str(errors), "")
    return (reason, "", "")


def _last_status(task: Task) -> TaskStatus:
    """The status of a task, or the one that a discarded statement had given it."""
    last = task.last_transaction
    return task.status if last is None else last.status


def _short_reason(status: TaskStatus) -> str:
    """The reason of a task's PodScheduled condition."""
    if status is _ALLOCATED:
        return "Schedulable"
    return "Unschedulable" if status in (_PENDING, _PIPELINED) else status.label
