"""The ledger that explanations are made from: per job, equal rows counted, memory bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from pumice.combine import (
    All,
    Answer,
    Any_,
    First,
    FirstError,
    FirstPlugin,
    FirstTierAll,
    Impl,
    Rule,
    TieredIntersection,
    Vote,
)
from pumice.explain.details import details_of
from pumice.ledger import Ledger
from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.solver.plan import Plan
from pumice.verdicts import EvictionContext, VoteDetails

if TYPE_CHECKING:
    from pumice.hookspecs import ExtensionPoint
    from pumice.plugin import Plugin
    from pumice.session.operations import Operation

_PENDING, _PIPELINED = TaskStatus.PENDING, TaskStatus.PIPELINED
_MOST_QUESTIONS = 200
"""Victim votes that are stored for one job in one action; later ones are only counted."""
_MOST_SPARED = 200
"""Protected victims that are stored for one job."""

WATCHED = frozenset(
    {
        "job_valid", "job_enqueueable", "job_starving", "job_pipelined", "sub_job_pipelined",
        "overused", "preemptive", "allocatable", "preemptable", "reclaimable", "unified_evictable",
        "protected", "can_reclaim_resources", "reclaim_victim_filter", "preempt_victim_filter",
        "reclaim_scenario_validator", "preempt_scenario_validator",
        "is_job_over_queue_capacity", "is_non_preemptible_job_over_queue_quota",
    }
)  # fmt: skip
"""The extension points whose objections explain why a job waits."""


@dataclass(slots=True)
class Objection:
    """The objections of one plugin at one extension point, made to one job in one action."""

    action: str
    point: str
    plugin: str
    tier: int
    count: int
    """How often it objected."""
    details: VoteDetails | None
    """What the first of them was based on, as far as the plugin says."""
    answer: Any = None
    """The first answer, where it is a text or a refusal."""


class VictimVote(NamedTuple):
    """Which candidates one plugin names, of those that it was asked about."""

    plugin: str
    tier: int
    named: Sequence[Task] | None
    """None: it abstained."""


class VictimQuestion(NamedTuple):
    """One question for victims, and how the plugins voted."""

    action: str
    point: str
    subject: Any
    """The task, or the context, that victims were sought for."""
    candidates: Sequence[Task]
    allowed: Sequence[Task]
    votes: Sequence[VictimVote]


@dataclass(slots=True)
class Spared:
    """A task or job that a plugin protects."""

    action: str
    point: str
    plugin: str
    tier: int
    reason: str


@dataclass(slots=True)
class Repeat:
    """A task whose victims were not voted on, because the votes are those about another task."""

    action: str
    task: Task
    other: Task
    record: JobRecord
    """The record of the other task's job."""
    until: int
    """How many questions that record had then."""

    def questions(self) -> Iterator[VictimQuestion]:
        """The questions as they would have been asked about the task."""
        for question in self.record.questions(self.until):
            if question.action == self.action and question.subject is self.other:
                yield question._replace(subject=self.task)


@dataclass(slots=True)
class JobRecord:
    """What happened to one job in one cycle."""

    objections: dict[tuple[str, str, str], Objection] = field(default_factory=dict)
    asked_rows: list[tuple[Any, ...]] = field(default_factory=list)
    """The fields of each question for victims that was asked in the turn of the job, its votes as
    tuples: a cycle asks very many, and few are read."""
    repeats: list[Repeat] = field(default_factory=list)
    not_stored: Counter[str] = field(default_factory=Counter)
    """By action: victim votes beyond the limit."""
    asked: Counter[str] = field(default_factory=Counter)
    """By action: victim votes."""
    spared: dict[str, Spared] = field(default_factory=dict)
    """By task key or job uid."""
    operations: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By action and kind (evict, pipeline, undo …): operations of statements."""
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By action and kind (commit, discard, refuse): statements that did or undid something."""
    searches: dict[str, dict[str, int]] = field(default_factory=dict)
    """By action: how many plans were simulated, dropped before that, and refused after it."""

    def questions(self, until: int | None = None) -> Iterator[VictimQuestion]:
        """The first ``until`` questions for victims that were asked; None: all."""
        for action, point, subject, candidates, allowed, votes in self.asked_rows[:until]:
            voted = [VictimVote(*vote) for vote in votes]
            yield VictimQuestion(action, point, subject, candidates, allowed, voted)

    def all_questions(self) -> list[VictimQuestion]:
        """The questions for victims of the job, those that were repeated included."""
        repeated = [question for repeat in self.repeats for question in repeat.questions()]
        return [*self.questions(), *repeated]


class JobLedger(Ledger):
    """Records, for every job or for some, the objections that it met and what was tried for it.

    Only objections are recorded, and equal ones counted, so that a cycle costs little more and a
    job takes bounded memory. It holds one cycle: the records refer to the tasks of the session, so
    they are read before the next cycle begins.
    """

    __slots__ = ("_action", "_focus", "_records", "_votes", "by_job", "served")

    def __init__(self, jobs: Sequence[str] | None = None) -> None:
        """``jobs``: the uids of the jobs to record, in whose turns alone votes are; None: all."""
        super().__init__(None, sorted(WATCHED))
        self._focus = None if jobs is None else frozenset(jobs)
        self._action = ""
        self._records = True
        """Whether votes are recorded at the moment."""
        self._votes: list[tuple[str, int, Any]] = []
        self.by_job: dict[str, JobRecord] = {}
        """What happened to each job in this cycle."""
        self.served: dict[str, list[str]] = {}
        """By action: the jobs in the order in which they had their turns."""

    # -- where it happens

    def begin(self, cycle: int) -> None:
        """A cycle begins: what was recorded of the last one is dropped."""
        self.cycle, self.by_job, self.served, self._action = cycle, {}, {}, ""

    def turn(self, job: Job | None) -> None:
        """It is a job's turn, or that of none."""
        self.job = job
        self._records = job is None or self.records(job)
        if job is not None:
            self.served.setdefault(self._action, []).append(job.uid)

    def record(self, event: str, **facts: Any) -> None:
        """Only the beginning of an action counts."""
        if event == "action":
            self._action = facts["name"]

    def of(self, job: Job | None) -> JobRecord | None:
        """The record of a job; None: it is not recorded."""
        if job is None:
            return None
        record = self.by_job.get(job.uid)
        if record is None and self.records(job):
            record = self.by_job[job.uid] = JobRecord()
        return record

    def records(self, job: Job | None) -> bool:
        """Whether a job is recorded."""
        return self._focus is None or (job is not None and job.uid in self._focus)

    # -- statements and searches

    def operation(self, event: str, op: Operation, node: str) -> None:
        """Count an operation of the job whose turn it is."""
        record = self.of(self.job)
        if record is not None:
            record.operations[self._action, event] += 1

    def closed(self, event: str, kinds: Sequence[str], reason: str = "") -> None:
        """Count the end of a statement that did something."""
        record = self.of(self.job) if kinds else None
        if record is not None:
            record.ended[self._action, event] += 1

    def note(self, job: Job, action: str, code: str, text: str) -> None:
        """The session stores notes itself."""

    def search(self, job: Job, **counts: int) -> None:
        """Record what the solver did for a job."""
        record = self.of(job)
        if record is not None:
            record.searches[self._action] = counts

    def repeats(self, task: Task, other: Task) -> bool:
        """Refer to what was recorded about the other task."""
        if task.job is other.job or not self.records(task.job):
            return True
        record, known = self.of(task.job), None
        if other.job is not None:
            known = self.by_job.get(other.job.uid)
        if record is None or known is None:
            return False
        action = self._action
        if any(row.action == action and row.other is other for row in record.repeats):
            return True  # another task of the job was refused the same way
        record.repeats.append(Repeat(action, task, other, known, len(known.asked_rows)))
        record.asked[action] += known.asked[action]
        record.not_stored[action] += known.not_stored[action]
        return True

    # -- votes

    def voter(self, point: ExtensionPoint, impl: Impl, plugin: Plugin, tier: int) -> Impl:
        """The same implementation, recording its objections."""
        if isinstance(point.rule, TieredIntersection):
            return replace(impl, fn=self._naming(impl, tier))
        objects = _OBJECTS.get(type(point.rule))
        if objects is None:
            return impl
        ask, name = impl.fn, point.name

        def watched(*args: Any) -> Any:
            answer = ask(*args)
            if objects(answer):
                self._object(name, impl.plugin, plugin, tier, args, answer)
            return answer

        return replace(impl, fn=watched)

    def question(self, point: ExtensionPoint, combined: Answer, plain: Answer) -> Answer:
        """The same combined question; one for victims is recorded with its votes."""
        if not isinstance(point.rule, TieredIntersection):
            return combined if self._focus is None else self._in_turn(combined, plain)
        name = point.name

        def asked(subject: Any, candidates: Sequence[Task]) -> Sequence[Task]:
            allowed: Sequence[Task]
            action, record = self._action, None
            if self._records:
                record = self.of(self.job or _job_of(subject))
            if record is None:
                allowed = plain(subject, candidates)
                return allowed
            record.asked[action] += 1
            if record.asked[action] > _MOST_QUESTIONS:
                record.not_stored[action] += 1
                allowed = plain(subject, candidates)
                return allowed
            votes: list[tuple[str, int, Any]] = []
            self._votes = votes
            allowed = combined(subject, candidates)
            record.asked_rows.append((action, name, subject, candidates, allowed, votes))
            return allowed

        return asked

    def _in_turn(self, combined: Answer, plain: Answer) -> Answer:
        def asked(*args: Any) -> Any:
            return (combined if self._records else plain)(*args)

        return asked

    def _naming(self, impl: Impl, tier: int) -> Answer:
        ask, plugin = impl.fn, impl.plugin

        def named(subject: Any, candidates: Sequence[Task]) -> Any:
            answer = ask(subject, candidates)
            self._votes.append((plugin, tier, answer))
            return answer

        return named

    def _object(
        self, point: str, name: str, plugin: Plugin, tier: int, args: Sequence[Any], answer: Any
    ) -> None:
        job = self.job or _job_of(*args)
        if job is None or not (job.by_status[_PENDING] or job.by_status[_PIPELINED]):
            return  # nothing is explained to a job that waits for nothing
        record = self.of(job)
        if record is None:
            return
        if point in ("protected", "reclaim_victim_filter", "preempt_victim_filter"):
            self._spare(record, point, plugin, tier, args, answer)
            return
        key = (self._action, point, name)
        known = record.objections.get(key)
        if known is None:
            details = details_of(plugin, point, args)
            kept = None if isinstance(answer, bool | int) else answer
            record.objections[key] = Objection(self._action, point, name, tier, 1, details, kept)
        else:
            known.count += 1

    def _spare(
        self,
        record: JobRecord,
        point: str,
        plugin: Plugin,
        tier: int,
        args: Sequence[Any],
        answer: Any,
    ) -> None:
        victim = args[0] if point == "protected" else args[1]
        key = victim.key if isinstance(victim, Task) else victim.uid
        if key not in record.spared and len(record.spared) < _MOST_SPARED:
            reason = answer if isinstance(answer, str) else ""
            if not reason:
                details = details_of(plugin, point, args)
                reason = details.text if details is not None else ""
            record.spared[key] = Spared(self._action, point, plugin.name, tier, reason)


def _job_of(*args: Any) -> Job | None:
    for arg in args:
        match arg:
            case Job():
                return arg
            case Task():
                return arg.job
            case EvictionContext():
                return arg.job
            case Plan():
                return arg.preemptor
    return None


_OBJECTS: dict[type[Rule], Callable[[Any], bool]] = {
    All: lambda answer: answer is False,
    Any_: lambda answer: answer is True,
    Vote: lambda answer: answer is not None and answer < 0,
    FirstTierAll: lambda answer: answer is False,
    First: lambda answer: answer is not None,
    FirstError: lambda answer: answer is not None,
    FirstPlugin: lambda answer: answer is not None and answer is not True,
}
"""By rule: whether an answer is an objection."""
