"""Why a job waits at the end of a cycle: one reason code and one sentence.

What ``pumice run`` prints, the conditions of pod groups and ``pumice explain`` say come from here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pumice.explain import capacity
from pumice.explain.codes import CODES, PLACEMENT_CODES, progress
from pumice.explain.details import details_of
from pumice.fit_errors import FitErrors
from pumice.model.quantity import shown
from pumice.model.task import Task, TaskStatus
from pumice.verdicts import NodeVerdicts, VoteDetails

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.session.session import Session

_PENDING, _ALLOCATED, _PIPELINED, _RELEASING = (
    TaskStatus.PENDING,
    TaskStatus.ALLOCATED,
    TaskStatus.PIPELINED,
    TaskStatus.RELEASING,
)
_NOTES = "pumice.notes"
_UNMATCHED, _SUMMARIES = "pumice.unmatched", "pumice.summaries"
"""Names in ``session.state``."""
_MOST_NAMES = 4
_INSUFFICIENT = "Insufficient "
_BOUNDED = frozenset({"OverLimit", "QueueShare"})
"""Codes of refusals by the job's queue."""


class Verdict(NamedTuple):
    """Why a job waits."""

    code: str
    """A reason code of :data:`~pumice.explain.codes.CODES`."""
    text: str
    """The same with names and numbers, for a person."""

    @property
    def never(self) -> bool:
        """Whether something must be changed for the job to run."""
        known = CODES.get(self.code)
        return known is not None and known.never


def verdict_of(session: Session, job: Job) -> Verdict | None:
    """Why a job waits; None: it waits for nothing."""
    if job.plugin_errors:
        return Verdict("PluginFault", job.plugin_errors[-1])
    by_status = job.by_status
    if not (by_status[_PENDING] or by_status[_PIPELINED] or by_status[_ALLOCATED]):
        return None
    if by_status[_PIPELINED] and (job.is_pipelined() or not by_status[_PENDING]):
        return _waits_for_release(session, job)
    if session.admits_jobs and job.is_pending:
        return _not_admitted(session, job)
    placing = _placing(session, job)
    if placing.code not in PLACEMENT_CODES:
        return placing
    evicting = furthest_note(job)
    if evicting is None:
        return placing
    action, code, text = evicting
    return Verdict(code, f"{placing.text}; {action}: {text}")


def notes_of(job: Job) -> dict[tuple[str, str], str]:
    """By action and reason code: why the actions did nothing for the job."""
    notes: dict[tuple[str, str], str] = job.state.get(_NOTES, {})
    return notes


def furthest_note(job: Job) -> tuple[str, str, str] | None:
    """(action, code, text) of the evicting action that came furthest; None: there is none."""
    notes = [(action, code, text) for (action, code), text in notes_of(job).items()]
    if job.refusals:
        refused = [r for r in job.refusals if progress(r.reason)]
        notes += [("", refusal.reason, refusal.message) for refusal in refused]
    if not notes:
        return None
    action, code, text = notes[0]
    if len(notes) > 1:
        action, code, text = max(notes, key=lambda note: progress(note[1]))
    if not action:
        action, _, rest = text.partition(" ")
        text = rest or text
    return action, code, text


def names(items: Sequence[str]) -> str:
    """Some names for a person; of many only the first."""
    listed = ", ".join(items[:_MOST_NAMES])
    more = len(items) - _MOST_NAMES
    return f"{listed} and {more} more" if more > 0 else listed


# -- before it is placed


def _not_admitted(session: Session, job: Job) -> Verdict:
    refusals = {r.message: r.reason for r in job.refusals if not progress(r.reason)}
    if not refusals:
        return Verdict("NotAdmitted", "not let into its queue yet")
    code = next((code for code in refusals.values() if code in CODES), "NotEnqueueable")
    details = _details(session, "job_enqueueable", job)
    verdict = Verdict(code, "; ".join(refusals) if details is None else details.text)
    return verdict if verdict.never else _too_large(session, job, limited=True) or verdict


def _waits_for_release(session: Session, job: Job) -> Verdict:
    tasks = list(job.by_status[_PIPELINED].values())
    nodes = sorted({task.node for task in tasks})
    rows = [session.nodes.row_of[name] for name in nodes if name in session.nodes.row_of]
    tasks_of = session.cluster.tasks
    leaving = sum(
        1
        for row in rows
        for uid in session.nodes.held[row]
        if (task := tasks_of.get(uid)) is not None and task.status is _RELEASING
    )
    evicted = any(task.eviction_occurred for task in tasks) or any(
        eviction.claimant == job.uid for eviction in session.decisions.evictions
    )
    thing = "eviction" if evicted else "pod"
    verb = "to finish" if evicted else "to end"
    what = f"{leaving} {thing}{'s' * (leaving != 1)} {verb}" if leaving else "resources to be freed"
    places = f"node{'s' * (len(nodes) != 1)} {names(nodes)}"
    ended = [r.message for r in job.refusals if r.reason == "ReservationEnded"]
    return Verdict("WaitsForRelease", "; ".join([f"waits for {what} on {places}", *ended]))


# -- while it is placed


def _placing(session: Session, job: Job) -> Verdict:
    """Why it was not placed on what is free."""
    refusal = _refusal(session, job)
    if refusal is not None and refusal.never:
        return refusal
    limited = refusal is not None and refusal.code in _BOUNDED
    verdict = _too_large(session, job, limited=limited) or refusal
    if verdict is not None:
        return verdict
    pending = list(job.by_status[_PENDING].values())
    if pending and all(task.gated for task in pending):
        gates = sorted({gate for task in pending for gate in task.pod.gates})
        return Verdict("Gated", f"scheduling gates hold its pods: {names(gates)}")
    if job.fit_errors:
        return _nodes(session, job)
    if pending:
        objection = session.ask.job_valid(job)
        if objection is not None:
            code = objection.reason if objection.reason in CODES else "NotEnoughTasks"
            return Verdict(code, objection.message)
    for (queue, action), (code, text) in session.queue_notes.items():
        if queue == job.queue:
            return Verdict(code, f"{action}: {text}")
    held = job.count(_ALLOCATED, _PIPELINED)
    if held:
        return Verdict("GangIncomplete", _gang_text(job, held))
    return Verdict("NotReached", "no action has placed it in this cycle")


def _refusal(session: Session, job: Job) -> Verdict | None:
    """The refusal of the job as a whole: by its queue, by the policy."""
    if not job.refusals:
        return None
    refusals = {r.reason: r for r in job.refusals if not progress(r.reason)}
    if not refusals:
        return None
    if "QueueShare" in refusals:
        details = queue_details(session, job)
        if details is not None:
            return Verdict(details.code or "QueueShare", details.text)
        return Verdict("QueueShare", refusals["QueueShare"].message)
    code = max(refusals, key=lambda code: code in CODES and CODES[code].never)
    texts = dict.fromkeys(r.message for r in job.refusals if not progress(r.reason))
    return Verdict(code, "; ".join(texts))


def queue_details(session: Session, job: Job) -> VoteDetails | None:
    """What the plugin that keeps the queue from holding one more task of the job says about it."""
    queue = session.queues.get(job.queue)
    task = next(iter(job.by_status[_PENDING].values()), None)
    if queue is None or task is None:
        return None
    return _details(session, "allocatable", queue, task)


def _details(session: Session, point: str, *args: Any) -> VoteDetails | None:
    """What the first plugin that objects at an extension point says about it."""
    for tier in session.ask.voters[point]:
        for _, plugin in tier:
            details = details_of(plugin, point, args)
            if details is not None:
                return details
    return None


def _too_large(session: Session, job: Job, *, limited: bool) -> Verdict | None:
    """What cannot change by itself: a job that exceeds its queue's limit, or the nodes."""
    text = capacity.beyond_limit(session, job) if limited else ""
    if text:
        return Verdict("LimitTooSmall", text)
    text = capacity.beyond_nodes(session, job)
    return Verdict("TooLarge", text) if text else None


def _nodes(session: Session, job: Job) -> Verdict:
    task, errors = first_error(job)
    summary = _summary_of(session, errors)
    if not summary.reasons and errors.head:
        return Verdict("NodesUnfit", errors.head)
    head = "" if task is None or len(job.tasks) == 1 else f"{task.name}: "
    inside = f" of hypernode {errors.hyper_node}" if errors.hyper_node else ""
    text = f"{head}none of {summary.nodes}{inside} takes it: {summary.reasons}"
    missing = summary.insufficient
    if missing and task is not None:
        text += capacity.shortage(session, task, errors)
    tried = sum(
        1
        for other in job.by_status[_PENDING].values()
        if other.last_transaction is not None
        and other.last_transaction.status in (_ALLOCATED, _PIPELINED)
    )
    if tried and job.min_available > 1:
        return Verdict("GangIncomplete", f"{_gang_text(job, tried)}; {text}")
    nowhere = unmatched(session, task)
    if nowhere is not None:
        listed = _summary_of(session, nowhere).reasons
        return Verdict("NoNodeMatches", f"{head}no node will do, full or empty: {listed}")
    return Verdict("NodesFull" if missing else "NodesUnfit", text)


class _Summary(NamedTuple):
    """What the nodes say, for a person."""

    verdicts: NodeVerdicts | None
    reasons: str
    """How many nodes gave each reason."""
    nodes: str
    """How many refuse."""
    insufficient: bool
    """Whether one of them has too little free."""


def _summary_of(session: Session, errors: FitErrors) -> _Summary:
    """What the nodes say; jobs that ask for the same mostly have one answer in common."""
    known: dict[int, _Summary] = session.state.setdefault(_SUMMARIES, {})
    summary = known.get(id(errors.verdicts))
    if summary is None or summary.verdicts is not errors.verdicts:
        histogram = errors.histogram()
        listed = ", ".join(f"{n} {reason}" for reason, n in histogram.most_common())
        count = 0 if errors.verdicts is None else int((errors.verdicts.codes != 0).sum())
        insufficient = any(reason.startswith(_INSUFFICIENT) for reason in histogram)
        nodes = f"{count} node{'s' * (count != 1)}"
        summary = _Summary(errors.verdicts, listed, nodes, insufficient)
        known[id(errors.verdicts)] = summary
    return summary


def unmatched(session: Session, task: Task | None) -> FitErrors | None:
    """Why the filters reject every node in a way that no eviction can resolve; None: some do not.

    Asked once for all tasks of a class.
    """
    if task is None:
        return None
    known: dict[int, FitErrors | None] = session.state.setdefault(_UNMATCHED, {})
    number = session.queries.class_id(task)
    if number not in known:
        found = None
        if session.queries.prepare(task) is None and not session.queries.resolvable(task).any():
            found = FitErrors(session.queries.verdicts(task))
        known[number] = found
    return known[number]


def first_error(job: Job) -> tuple[Task | None, FitErrors]:
    """The first task of the job by name that no node takes, and why; one with verdicts first."""
    known = [(job.tasks.get(uid), errors) for uid, errors in job.fit_errors.items()]
    if len(known) == 1:
        return known[0]
    return min(
        known, key=lambda one: (one[1].verdicts is None, one[0].name if one[0] is not None else "")
    )


def _gang_text(job: Job, placed: int) -> str:
    ready = job.ready_count
    has = f" besides {ready} that run" if ready else ""
    return f"{placed} of {len(job.tasks)} tasks fit{has}, minAvailable is {job.min_available}"


def amount_of(name: str, value: float) -> str:
    """An amount with its resource: ``4 cpu``."""
    return f"{shown(name, value)} {name}"
