"""The steps of a decision about a job, in the order in which they are decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pumice.explain.capacity import asked_by, minimum_of
from pumice.explain.codes import CODES
from pumice.explain.evicting import evicting_levels
from pumice.explain.explanation import Level, amounts, plain_numbers
from pumice.explain.record import JobLedger, JobRecord, Objection
from pumice.explain.verdict import Verdict, first_error, names, queue_details, unmatched
from pumice.model.quantity import shown
from pumice.model.resources import Resource
from pumice.model.task import TaskStatus
from pumice.verdicts import Refusal

if TYPE_CHECKING:
    from pumice.config import PluginEntry
    from pumice.explain.explanation import Victim
    from pumice.model.facts import Queue
    from pumice.model.job import Job
    from pumice.session.session import Session

_PENDING = TaskStatus.PENDING
_DEFAULT_CODES = {
    "allocatable": "QueueShare",
    "overused": "QueueOverused",
    "is_job_over_queue_capacity": "OverLimit",
    "is_non_preemptible_job_over_queue_quota": "NonPreemptibleOverQuota",
}


def levels_of(
    session: Session,
    job: Job,
    ledger: JobLedger | None,
    verdict: Verdict | None,
    victims: tuple[Victim, ...],
) -> tuple[Level, ...]:
    """All levels; what comes after the one that stopped the job may not have been asked."""
    record = None if ledger is None else ledger.by_job.get(job.uid)
    return (
        _policy(session, job, verdict),
        _enqueue(session, job, record, verdict),
        *_queue(session, job, record, verdict),
        *_order(session, job, ledger),
        _gang(session, job, record, verdict),
        _nodes(session, job, verdict),
        *evicting_levels(session, job, record, victims, verdict),
    )


def place_of(session: Session, plugin: str) -> str:
    """Where the policy lists a plugin."""
    return session.policy.why("plugin", plugin) if plugin in session.plugins else ""


def _policy(session: Session, job: Job, verdict: Verdict | None) -> Level:
    actions = " → ".join(entry.name for entry in session.policy.actions)
    stops = verdict is not None and CODES[verdict.code].level == "policy"
    text = verdict.text if verdict is not None and stops else f"{session.policy.origin}: {actions}"
    return Level("policy", not stops, text, where=session.policy.origin)


def _enqueue(
    session: Session, job: Job, record: JobRecord | None, verdict: Verdict | None
) -> Level:
    if not session.admits_jobs:
        return Level("enqueue gate", True, "the policy admits jobs without a vote")
    if verdict is None or not (job.is_pending and session.admits_jobs):
        return Level("enqueue gate", True, f"admitted into queue {job.queue}")
    found = _objections(record, "job_enqueueable")
    if not found:
        return Level("enqueue gate", False, verdict.text)
    one = found[0]
    asked = job.min_resources
    numbers: dict[str, Any] = {"asked": amounts(asked)} if asked is not None else {}
    if one.details is not None:
        numbers |= plain_numbers(one.details.numbers)
    text = one.details.text if one.details is not None else verdict.text
    return _objected("enqueue gate", session, one, text, numbers)


def _queue(
    session: Session, job: Job, record: JobRecord | None, verdict: Verdict | None
) -> Iterator[Level]:
    """The levels of the limit and of the share."""
    objections: dict[str, tuple[Objection, str, dict[str, Any]]] = {}
    for one in _objections(record, *_DEFAULT_CODES):
        code, text, numbers = _grounds(one)
        level = CODES[code].level if code in CODES else "share"
        objections.setdefault(level, (one, text, numbers))
    queue = session.queues.get(job.queue)
    for level in ("queue limit", "share"):
        numbers = {"asked": _resource_amounts(session, job)}
        if queue is not None:
            numbers |= _queue_numbers(session, queue, level)
        if level in objections:
            one, text, own = objections[level]
            text += _since(session, job, one, text, verdict)
            yield _objected(level, session, one, text, {**numbers, **own})
        elif verdict is not None and CODES[verdict.code].level == level:
            yield Level(level, False, verdict.text, numbers=numbers)
        else:
            yield Level(level, True, _queue_text(job, level, numbers), numbers=numbers)


def _since(session: Session, job: Job, one: Objection, text: str, verdict: Verdict | None) -> str:
    """The moment of an objection, where the verdict at the end of the cycle has other numbers."""
    if verdict is None or text in verdict.text or one.point != "allocatable":
        return ""
    now = queue_details(session, job)
    if now is None:
        return f" (when {one.action} asked)"
    if now.text == text:
        return ""
    return f" (when {one.action} asked; at the end of the cycle {now.text})"


def _queue_text(job: Job, level: str, numbers: dict[str, Any]) -> str:
    used = _sum_text(numbers.get("used"))
    bounds = {"limit": "its limit is"}
    if level == "share":
        bounds = {"deserved": "it deserves", "fair_share": "its fair share is"}
    for name, text in bounds.items():
        if numbers.get(name):
            return f"queue {job.queue} holds {used}; {text} {_sum_text(numbers[name])}"
    return f"queue {job.queue} holds {used}; no {level.removeprefix('queue ')} is set"


def _sum_text(numbers: dict[str, str] | None) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in (numbers or {}).items()) or "nothing"


def _queue_numbers(session: Session, queue: Queue, level: str) -> dict[str, Any]:
    numbers: dict[str, Any] = {"used": amounts(used_by(session, queue.name))}
    if level == "queue limit":
        if queue.limit is not None:
            numbers["limit"] = amounts(queue.limit)
        return numbers
    for name, point in (
        ("deserved", session.ask.get_queue_deserved_resources),
        ("fair_share", session.ask.get_queue_fair_share),
    ):
        found = point(queue)
        if isinstance(found, Resource):
            numbers[name] = amounts(found)
    return numbers


def used_by(session: Session, queue: str) -> Resource:
    """What the jobs of a queue hold or are promised."""
    held = session.ask.get_queue_allocated_resources(session.queues[queue])
    if isinstance(held, Resource):
        return held
    total = sum(j.allocated for j in session.jobs.values() if j.queue == queue)
    return Resource() if isinstance(total, int) else session.nodes.dimensions.resource(total)


def _order(session: Session, job: Job, ledger: JobLedger | None) -> Iterator[Level]:
    """Who had the last turn before the job, in the first action that places jobs."""
    entry = next((entry for entry in session.policy.actions if entry.cls.allocates), None)
    if ledger is None or entry is None or not job.by_status[_PENDING]:
        return
    last = {uid: number for number, uid in enumerate(ledger.served.get(entry.name, ()))}
    own = last.get(job.uid)
    if own is None:
        return
    placed = set(_placed_jobs(session))
    ahead = [
        uid
        for uid, number in sorted(last.items(), key=lambda item: item[1])
        if number < own
        and uid in session.jobs
        and session.jobs[uid].queue == job.queue
        and (uid in placed or session.jobs[uid].by_status[_PENDING])
    ]
    text = f"served before it in queue {job.queue}: {names(ahead)}"
    if not ahead:
        text = f"no waiting job of queue {job.queue} was served before it"
    where = session.policy.why("action", entry.name)
    yield Level("order", True, text, where=where, numbers={"ahead": len(ahead)})


def _placed_jobs(session: Session) -> Iterator[str]:
    binds, pipelined = session.decisions.binds, session.decisions.pipelined
    for uid in (*(bind.uid for bind in binds), *(one.uid for one in pipelined)):
        task = session.cluster.tasks.get(uid)
        if task is not None and task.job is not None:
            yield task.job.uid


def _gang(session: Session, job: Job, record: JobRecord | None, verdict: Verdict | None) -> Level:
    pipelined = len(job.by_status[TaskStatus.PIPELINED])
    pending = len(job.by_status[_PENDING])
    numbers = {
        "minAvailable": job.min_available,
        "tasks": len(job.tasks),
        "ready": job.ready_count,
        "pipelined": pipelined,
        "pending": pending,
    }
    stops = verdict is not None and CODES[verdict.code].level == "gang"
    enough = job.ready_count + pipelined + pending >= job.min_available
    text = (
        f"needs {job.min_available} of {len(job.tasks)} tasks at once: {job.ready_count} ready, "
        f"{pipelined} pipelined, {pending} pending"
    )
    if not stops or verdict is None:
        return Level("gang", enough, text, numbers=numbers)
    for one in _objections(record, "job_valid"):
        return _objected("gang", session, one, verdict.text, numbers)
    return Level("gang", False, verdict.text, numbers=numbers)


def _nodes(session: Session, job: Job, verdict: Verdict | None) -> Level:
    asked = minimum_of(job)
    task = max(asked, key=lambda one: int(one.vector.sum()), default=None)
    numbers: dict[str, Any] = {"nodes": len(session.nodes)}
    if task is not None:
        numbers["asked"] = amounts(task.request)
    if job.fit_errors:
        failed, errors = first_error(job)
        histogram = errors.histogram()
        numbers["by_reason"] = dict(histogram.most_common())
        numbers |= free_numbers(session, failed or task)
        by = ", ".join(f"{count} {reason}" for reason, count in histogram.most_common())
        text = f"0 of {len(session.nodes)} nodes take {failed.name if failed else 'it'} now: {by}"
        text = text if histogram else str(errors)
        if verdict is not None and verdict.code == "NoNodeMatches":
            text, errors = verdict.text, unmatched(session, failed) or errors
        plugin = errors.main_plugin()
        hook = "predicate" if plugin else ""
        tier = next((n for n, t in enumerate(session.policy.tiers, 1) if _has(t, plugin)), None)
        where = place_of(session, plugin)
        return Level("nodes", False, text, plugin, hook, tier, where, numbers)
    stops = verdict is not None and CODES[verdict.code].level == "nodes"
    if verdict is not None and stops:
        return Level("nodes", verdict.code == "WaitsForRelease", verdict.text, numbers=numbers)
    if task is None:
        return Level("nodes", True, _places(job), numbers=numbers)
    numbers |= free_numbers(session, task)
    return Level("nodes", True, "not asked: the job did not get that far", numbers=numbers)


def _has(tier: Sequence[PluginEntry], plugin: str) -> bool:
    return any(entry.name == plugin for entry in tier)


def _places(job: Job) -> str:
    nodes = sorted({task.node for task in job.tasks.values() if task.node})
    return f"its tasks are on {names(nodes)}" if nodes else "no task of it needs a node"


def free_numbers(session: Session, task: Any) -> dict[str, Any]:
    """The most that is free on one node, of each resource that the task asks for."""
    if task is None or not len(session.nodes):
        return {}
    most = session.nodes.future_idle.max(axis=0)
    dimensions = session.nodes.dimensions.names
    free = {n: int(most[i]) for i, n in enumerate(dimensions) if task.vector[i] and n != "pods"}
    missing = {n: task.vector[dimensions.index(n)] - has for n, has in free.items()}
    return {
        "most_free_on_a_node": {n: shown(n, max(has, 0)) for n, has in free.items()},
        "missing": {n: shown(n, int(lack)) for n, lack in missing.items() if lack > 0},
    }


# -- helpers


def _objections(record: JobRecord | None, *points: str) -> list[Objection]:
    found = record.objections.values() if record is not None else ()
    return [one for one in found if one.point in points]


def _grounds(one: Objection) -> tuple[str, str, dict[str, Any]]:
    """(code, text, numbers) of an objection to what a queue may hold."""
    code = _DEFAULT_CODES[one.point]
    if isinstance(one.answer, Refusal):
        numbers = {name: value for name, value in one.answer.details.items() if name != "queue"}
        return one.answer.reason, one.answer.message, plain_numbers(numbers)
    if one.details is not None:
        return one.details.code or code, one.details.text, plain_numbers(one.details.numbers)
    return code, f"{one.plugin} answers no", {}


def _objected(
    level: str, session: Session, one: Objection, text: str, numbers: dict[str, Any]
) -> Level:
    return Level(
        level, False, text, one.plugin, one.point, one.tier, place_of(session, one.plugin), numbers
    )


def _resource_amounts(session: Session, job: Job) -> dict[str, str]:
    return amounts(session.nodes.dimensions.resource(asked_by(job)))
