"""What each evicting action tried for a job, and what it came to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pumice.explain.codes import progress
from pumice.explain.explanation import Level, Victim, plain_numbers
from pumice.explain.record import JobRecord, Objection
from pumice.explain.verdict import Verdict, notes_of
from pumice.explain.victims import who_spares
from pumice.model.task import TaskStatus

if TYPE_CHECKING:
    from pumice.config import ActionEntry
    from pumice.model.job import Job
    from pumice.session.session import Session


def evicting_levels(
    session: Session,
    job: Job,
    record: JobRecord | None,
    victims: tuple[Victim, ...],
    verdict: Verdict | None,
) -> Iterator[Level]:
    """A level for each evicting action of the policy."""
    waits = verdict is not None and bool(job.by_status[TaskStatus.PENDING])
    for entry in session.policy.actions:
        if entry.cls.evicts:
            yield _level(session, job, entry, record, victims, waits)


def _level(
    session: Session,
    job: Job,
    entry: ActionEntry,
    record: JobRecord | None,
    victims: tuple[Victim, ...],
    waits: bool,
) -> Level:
    action, where = entry.name, session.policy.why("action", entry.name)
    evicted = [e for e in session.decisions.evictions if e.claimant == job.uid]
    own = [eviction for eviction in evicted if eviction.action == action]
    numbers = _numbers(record, action)
    if own:
        text = f"evicts {len(own)} task{'s' * (len(own) != 1)} for it"
        return Level(action, True, text, where=where, numbers=numbers)
    if not waits:
        return Level(action, True, "not needed", where=where)
    if session.admits_jobs and job.is_pending:
        text = "not asked: the job is not admitted into its queue"
        return Level(action, False, text, where=where)
    code, text = _note(job, action)
    objection = _objection(record, action, code)
    if objection is None and code in ("VictimsProtected", "NoPlan", "NotEnough"):
        spared = _spared_by(victims, record, action)
        if spared is not None:
            plugin, hook, tier, count = spared
            text = f"{text}; {plugin} spares {count}" if text else f"{plugin} spares {count}"
            listed = session.policy.why("plugin", plugin)
            return Level(action, False, text, plugin, hook, tier, listed, numbers)
    if objection is not None:
        details = objection.details
        if details is not None:
            numbers |= plain_numbers(details.numbers)
        said = f"{text}: {details.text}" if details is not None and text else text
        listed = session.policy.why("plugin", objection.plugin)
        return Level(
            action, False, said or f"{objection.plugin} objects", objection.plugin,
            objection.point, objection.tier, listed, numbers,
        )  # fmt: skip
    return Level(action, False, text or "nothing was tried for it", where=where, numbers=numbers)


def _note(job: Job, action: str) -> tuple[str, str]:
    """(code, text) of what an action says about the job; of several the furthest."""
    notes = [(code, text) for (by, code), text in notes_of(job).items() if by == action]
    notes += [
        (r.reason, r.message.removeprefix(f"{action} "))
        for r in job.refusals
        if progress(r.reason) and r.message.startswith(action)
    ]
    return max(notes, key=lambda note: progress(note[0]), default=("", ""))


_POINTS_OF_CODE = {
    "NotStarving": ("job_starving",),
    "QueueOverused": ("overused",),
    "NotEntitled": ("preemptive", "can_reclaim_resources"),
    "OverShare": ("allocatable",),
    "EvictionsUndone": ("job_pipelined",),
    "NoPlan": ("reclaim_scenario_validator", "preempt_scenario_validator"),
    "NonPreemptibleOverQuota": ("is_non_preemptible_job_over_queue_quota",),
}


def _objection(record: JobRecord | None, action: str, code: str) -> Objection | None:
    """The objection that an action's reason code is about."""
    points = _POINTS_OF_CODE.get(code, ())
    for one in record.objections.values() if record is not None else ():
        if one.action == action and one.point in points:
            return one
    return None


def _spared_by(
    victims: tuple[Victim, ...], record: JobRecord | None, action: str
) -> tuple[str, str, int | None, int] | None:
    if record is None:
        return None
    questions = [question for question in record.all_questions() if question.action == action]
    asked = {task.key for question in questions for task in question.candidates}
    asked |= {name for name, spared in record.spared.items() if spared.action == action}
    own = tuple(victim for victim in victims if victim.task in asked)
    return next(iter(who_spares(own)), None)


def _numbers(record: JobRecord | None, action: str) -> dict[str, Any]:
    """What was tried, in counts."""
    if record is None:
        return {}
    questions = [q for q in record.all_questions() if q.action == action]
    numbers: dict[str, Any] = {}
    if record.asked[action]:
        numbers["votes"] = record.asked[action]
        numbers["candidates"] = len({task.uid for q in questions for task in q.candidates})
        numbers["allowed"] = len({task.uid for q in questions for task in q.allowed})
    for (by, event), count in (*record.operations.items(), *record.ended.items()):
        if by == action:
            numbers[_WORDS.get(event, event)] = count
    plans = record.searches.get(action, {})
    return numbers | {f"plans {what}": count for what, count in plans.items() if count}


_WORDS = {
    "evict": "evictions tried",
    "pipeline": "tasks placed",
    "undo": "operations undone",
    "commit": "statements committed",
    "discard": "statements discarded",
    "refuse": "statements refused",
}
