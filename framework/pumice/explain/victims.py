"""Which victims were considered for a job, and why each was spared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pumice.explain.details import details_of
from pumice.explain.explanation import Victim
from pumice.explain.record import JobRecord, VictimQuestion, VictimVote
from pumice.model.task import Task

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.session.session import Session


def victims_of(session: Session, job: Job, record: JobRecord | None) -> tuple[Victim, ...]:
    """Every candidate that was voted on for the job, or protected from it, each once."""
    found: dict[str, Victim] = {}
    for eviction in session.decisions.evictions:
        if eviction.claimant == job.uid:
            rule = allowed_by(record, eviction.task)
            found[eviction.task] = Victim(eviction.task, "evicted", *rule, eviction.reason)
    if record is None:
        return tuple(found.values())
    for question in record.all_questions():
        for victim in _voted(session, question):
            known = found.get(victim.task)
            if known is None or (known.outcome == "spared" and victim.outcome == "allowed"):
                found[victim.task] = victim
    for name, spared in record.spared.items():
        reason = spared.reason or f"{spared.plugin} does not let its job lose tasks to this one"
        row = Victim(name, "spared", spared.plugin, spared.point, spared.tier, reason)
        found.setdefault(name, row)
    return tuple(found.values())


def _voted(session: Session, question: VictimQuestion) -> Iterator[Victim]:
    allowed = {task.uid for task in question.allowed}
    for task in question.candidates:
        if task.uid in allowed:
            by = _deciding(question.votes)
            names = ", ".join(vote.plugin for vote in by)
            tier = by[0].tier if by else None
            yield Victim(task.key, "allowed", names, question.point, tier, "the plugins agree")
            continue
        vote = excluding(question, task)
        if vote is None:
            reason = "no plugin names victims at this extension point"
            yield Victim(task.key, "spared", "", question.point, None, reason)
            continue
        reason = _reason(session, question, vote, task)
        yield Victim(task.key, "spared", vote.plugin, question.point, vote.tier, reason)


def _deciding(votes: Sequence[VictimVote]) -> list[VictimVote]:
    """The votes of the tier that decided, which is the last one that was asked."""
    last = max((vote.tier for vote in votes), default=0)
    return [vote for vote in votes if vote.tier == last and vote.named is not None]


def excluding(question: VictimQuestion, task: Task) -> VictimVote | None:
    """The vote that leaves a candidate out: in the deciding tier, or else in an earlier one."""
    left_out = [
        vote
        for vote in question.votes
        if vote.named is not None and all(named.uid != task.uid for named in vote.named)
    ]
    last = max((vote.tier for vote in question.votes), default=0)
    deciding = [vote for vote in left_out if vote.tier == last]
    return next(iter(deciding or left_out), None)


def _reason(session: Session, question: VictimQuestion, vote: VictimVote, task: Task) -> str:
    plugin = session.plugins.get(vote.plugin)
    details = None
    if plugin is not None:
        details = details_of(plugin, question.point, (question.subject, [task]))
    if details is not None:
        return details.text
    if not vote.named:
        return f"{vote.plugin} names no victim here, which vetoes the tier"
    return f"{vote.plugin} does not name it"


def allowed_by(record: JobRecord | None, task: str) -> tuple[str, str, int | None]:
    """(plugins, extension point, tier) of the vote that allowed an eviction."""
    for question in record.all_questions() if record is not None else ():
        if any(allowed.key == task for allowed in question.allowed):
            by = _deciding(question.votes)
            tier = by[0].tier if by else None
            return ", ".join(vote.plugin for vote in by), question.point, tier
    return "", "", None


def who_spares(victims: tuple[Victim, ...]) -> list[tuple[str, str, int | None, int]]:
    """(plugin, extension point, tier, how many it spares), the one that spares most first."""
    counts = Counter((v.plugin, v.hook, v.tier) for v in victims if v.outcome == "spared")
    return [(*who, count) for who, count in counts.most_common()]
