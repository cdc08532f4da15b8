"""What came of a scenario, and where that differs from what was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from pumice.explain.explanation import Explanation
from pumice.scenarios.scenario import Expect, ExpectedReason, TaskState

Verdict = Literal["passed", "failed", "skipped", "error"]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that turned out otherwise."""

    what: str
    """The key of ``expect``, and the task or job under it."""
    expected: str
    actual: str
    job: str = ""
    """The job it is about, whose reason may explain it."""

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, got {self.actual}"


@dataclass(frozen=True, slots=True)
class Result:
    """The verdict on one scenario."""

    id: str
    file: str
    title: str
    verdict: Verdict
    mismatches: tuple[Mismatch, ...] = ()
    error: str = ""
    """Why it could not be run, or what went wrong in it."""
    reasons: tuple[tuple[str, str], ...] = ()
    """(job, why it waits) of the jobs that the mismatches are about."""
    missing: tuple[tuple[str, str], ...] = ()
    """(``plugin`` or ``action``, name) of the parts that are not installed."""
    warnings: tuple[str, ...] = ()
    """Objects that could not be used."""

    @property
    def failed(self) -> bool:
        return self.verdict in ("failed", "error")

    def as_json(self) -> dict[str, Any]:
        plain = asdict(self)
        plain["mismatches"] = [
            {"what": m.what, "expected": m.expected, "actual": m.actual} for m in self.mismatches
        ]
        plain["reasons"] = dict(self.reasons)
        plain["missing"] = [{"kind": kind, "name": name} for kind, name in self.missing]
        return plain


class State(NamedTuple):
    """A task at the end."""

    status: str
    node: str
    job: str
    gated: bool = False

    def is_as(self, wanted: TaskState) -> bool:
        if wanted.status == "Gated":
            return self.gated and self.status == "Pending"
        # A node that a pending task names is where it was, or may be: it is not there.
        nodeless = wanted.node is None or wanted.status == "Pending"
        return self.status == wanted.status and (nodeless or self.node == wanted.node)

    def __str__(self) -> str:
        return f"{self.status} on {self.node}" if self.node else self.status


@dataclass(slots=True)
class Outcome:
    """What was decided over all cycles, and what it led to."""

    binds: list[tuple[str, str]]
    """(task, node) in the order decided."""
    evictions: list[str]
    """Tasks; one that is evicted in two cycles is there twice."""
    pipelined: dict[str, str]
    """Task → node, in the last cycle."""
    phases: Mapping[str, str]
    states: Mapping[str, State]
    explanations: Mapping[str, Explanation] = field(default_factory=dict)
    """By job: how it is explained, for the jobs whose explanation is expected."""

    def members(self, job: str) -> dict[str, State]:
        return {task: state for task, state in self.states.items() if state.job == job}

    def job_of(self, task: str) -> str:
        return self.states[task].job if task in self.states else ""


def mismatches(expect: Expect, outcome: Outcome) -> list[Mismatch]:
    """Everything that differs."""
    return [
        mismatch
        for key, check in _CHECKS.items()
        if (wanted := getattr(expect, key)) is not None
        for mismatch in check(wanted, outcome)
    ]


def _binds(wanted: dict[str, str], outcome: Outcome) -> Iterator[Mismatch]:
    actual = dict(outcome.binds)
    for task in sorted({*wanted, *actual}):
        expected, got = wanted.get(task, "not bound"), actual.get(task, "not bound")
        if expected != got:
            yield Mismatch(f"binds {task}", expected, got, outcome.job_of(task))


def _evictions(wanted: list[str], outcome: Outcome) -> Iterator[Mismatch]:
    actual = set(outcome.evictions)
    for task in sorted(actual.symmetric_difference(wanted)):
        verdicts = ("evicted", "not evicted")
        expected, got = reversed(verdicts) if task in actual else verdicts
        yield Mismatch(f"evictions {task}", expected, got)


def _pipelined(wanted: dict[str, list[str]], outcome: Outcome) -> Iterator[Mismatch]:
    for job, nodes in wanted.items():
        allowed = f"on {' or '.join(nodes)}"
        placed = {t: n for t, n in outcome.pipelined.items() if outcome.job_of(t) == job}
        if not placed:
            yield Mismatch(f"pipelined {job}", f"a task {allowed}", "none", job)
        for task, node in placed.items():
            if node not in nodes:
                yield Mismatch(f"pipelined {job}", f"{task} {allowed}", f"on {node}", job)


def _phases(wanted: dict[str, str], outcome: Outcome) -> Iterator[Mismatch]:
    for job, phase in wanted.items():
        got = outcome.phases.get(job)
        if got is None:
            yield Mismatch(f"phases {job}", phase, "no such job")
        elif got != phase:
            yield Mismatch(f"phases {job}", phase, got or "no phase", job)


def _task_counts(wanted: dict[str, dict[str, int]], outcome: Outcome) -> Iterator[Mismatch]:
    for job, counts in wanted.items():
        members = outcome.members(job).values()
        for status, count in counts.items():
            got = sum(state.is_as(TaskState(status)) for state in members)
            if got != count:
                yield Mismatch(f"task_counts {job}", f"{count} {status}", str(got), job)


def _jobs(wanted: dict[str, TaskState], outcome: Outcome) -> Iterator[Mismatch]:
    for job, state in wanted.items():
        members = outcome.members(job)
        if not members:
            yield Mismatch(f"jobs {job}", _spell(state), "no task of this job")
        for task, got in members.items():
            if not got.is_as(state):
                yield Mismatch(f"jobs {job} {task}", _spell(state), str(got), job)


def _tasks(wanted: dict[str, TaskState], outcome: Outcome) -> Iterator[Mismatch]:
    for task, state in wanted.items():
        got = outcome.states.get(task)
        if got is None:
            yield Mismatch(f"tasks {task}", _spell(state), "no such task")
        elif not got.is_as(state):
            yield Mismatch(f"tasks {task}", _spell(state), str(got), got.job)


def _explain(wanted: dict[str, ExpectedReason], outcome: Outcome) -> Iterator[Mismatch]:
    for job, reason in wanted.items():
        found = outcome.explanations.get(job)
        if found is None:
            yield Mismatch(f"explain {job}", reason.code or "an explanation", "no such job")
            continue
        for what in ("verdict", "code"):
            expected, got = getattr(reason, what), getattr(found, what)
            if expected is not None and expected != got:
                yield Mismatch(f"explain {job} {what}", expected, got, job)
        if reason.binding is not None and reason.binding not in found.binding:
            yield Mismatch(f"explain {job} binding", f"… {reason.binding} …", found.binding, job)
        if not any(_decides(reason, *said) for said in _said(found)):
            expected = " ".join(filter(None, (reason.level, reason.plugin, reason.hook)))
            stopped = [" ".join(filter(None, said)) for said in _said(found)]
            yield Mismatch(f"explain {job}", expected, "; ".join(stopped) or "nothing", job)
        spared = {victim.task for victim in found.victims if victim.outcome == "spared"}
        for task in sorted(set(reason.spared or ()) - spared):
            yield Mismatch(f"explain {job} spared", task, ", ".join(sorted(spared)) or "none", job)


def _said(found: Explanation) -> Iterator[tuple[str, str, str]]:
    """(level, plugin, extension point) of everything that stopped a job or spared a victim."""
    yield ("", "", "")
    for level in found.levels:
        if not level.ok:
            yield level.level, level.plugin, level.hook
    for victim in found.victims:
        yield "", victim.plugin, victim.hook


def _decides(reason: ExpectedReason, level: str, plugin: str, hook: str) -> bool:
    return (
        (reason.level is None or reason.level == level)
        and (reason.plugin is None or reason.plugin in plugin.split(", "))
        and (reason.hook is None or reason.hook == hook)
    )


def _spell(state: TaskState) -> str:
    return f"{state.status} on {state.node}" if state.node else state.status


def _count(key: str, measure: Callable[[Outcome], int]) -> Callable[..., Iterator[Mismatch]]:
    def check(wanted: int, outcome: Outcome) -> Iterator[Mismatch]:
        got = measure(outcome)
        if got != wanted:
            yield Mismatch(key, str(wanted), str(got))

    return check


def _max_evictions(wanted: int, outcome: Outcome) -> Iterator[Mismatch]:
    got = len(outcome.evictions)
    if got > wanted:
        yield Mismatch("max_evictions", f"at most {wanted}", str(got))


def _max_per_task(wanted: int, outcome: Outcome) -> Iterator[Mismatch]:
    for task, count in sorted(Counter(outcome.evictions).items()):
        if count > wanted:
            yield Mismatch(f"max_evictions_per_task {task}", f"at most {wanted}", str(count))


_CHECKS: dict[str, Callable[..., Iterator[Mismatch]]] = {
    "binds": _binds,
    "bind_count": _count("bind_count", lambda outcome: len(outcome.binds)),
    "evictions": _evictions,
    "evict_count": _count("evict_count", lambda outcome: len(outcome.evictions)),
    "max_evictions": _max_evictions,
    "max_evictions_per_task": _max_per_task,
    "pipelined": _pipelined,
    "pipeline_count": _count("pipeline_count", lambda outcome: len(outcome.pipelined)),
    "phases": _phases,
    "task_counts": _task_counts,
    "jobs": _jobs,
    "tasks": _tasks,
    "explain": _explain,
}
