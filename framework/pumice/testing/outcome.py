"""What a policy decided about a test's cluster, and assertions that explain failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from pumice.decisions import Decisions, JobState
from pumice.ledger import Ledger
from pumice.testing.cluster import NAMESPACE, Cluster

_MAX_LINES = 40
"""How many lines of votes a failed assertion shows."""


class Outcome:
    """The decisions of all cycles. Jobs and tasks are named without their namespace."""

    def __init__(self, cluster: Cluster, cycles: Sequence[Decisions], ledger: Ledger) -> None:
        self.cluster = cluster
        """The cluster that was scheduled."""
        self.cycles = cycles
        """The decisions of each cycle."""
        self._ledger = ledger

    @cached_property
    def events(self) -> Sequence[dict[str, Any]]:
        """Everything that was asked, answered and done, as the ledger recorded it."""
        return list(self._ledger.events())

    @property
    def decisions(self) -> Decisions:
        """The decisions of the last cycle."""
        return self.cycles[-1]

    @property
    def bound(self) -> dict[str, str]:
        """Task → node of every bind."""
        return {_short(bind.task): bind.node for cycle in self.cycles for bind in cycle.binds}

    @property
    def pipelined(self) -> dict[str, str]:
        """Task → node of the tasks that are pipelined after the last cycle."""
        return {_short(task.task): task.node for task in self.decisions.pipelined}

    @property
    def evicted(self) -> list[str]:
        """The evicted tasks by name."""
        return sorted({_short(e.task) for cycle in self.cycles for e in cycle.evictions})

    def placed(self, job: str) -> dict[str, int]:
        """Node → number of tasks of the job that were bound to it."""
        tasks = set(self._tasks(job))
        return dict(Counter(node for task, node in self.bound.items() if task in tasks))

    def waiting(self, job: str) -> str:
        """Why the job is pending; empty when it is not."""
        return self._state(job).reason

    def phase(self, job: str) -> str:
        """The phase of the job's pod group after the last cycle."""
        return self._state(job).phase

    # -- assertions

    def assert_placed(self, job: str, on: str | Mapping[str, int] | None = None) -> None:
        """All pending tasks of the job were bound: anywhere, to one node, or a number to each."""
        __tracebackhide__ = True
        placed, bound = self.placed(job), self.bound
        left = [task for task in self._pending(job) if task not in bound]
        if isinstance(on, Mapping):
            if placed != dict(on):
                self._fail(job, f"{job} should be placed on {dict(on)}, is on {placed}")
        elif left:
            self._fail(job, f"{job} should be placed, but {', '.join(left)} got no node")
        elif not placed:
            self._fail(job, f"{job} should be placed, but nothing of it was pending")
        elif on is not None and set(placed) != {on}:
            self._fail(job, f"{job} should be placed on {on}, is on {placed}")

    def assert_waiting(self, job: str, because: str = "") -> None:
        """No task of the job was bound, and its reason contains ``because``."""
        __tracebackhide__ = True
        if self.placed(job):
            self._fail(job, f"{job} should wait, is on {self.placed(job)}")
        if because.casefold() not in self.waiting(job).casefold():
            self._fail(job, f"{job} should wait because of {because!r}: {self.waiting(job)!r}")

    def assert_evicted(self, *tasks: str) -> None:
        """Exactly these tasks were evicted."""
        __tracebackhide__ = True
        if self.evicted != sorted(tasks):
            jobs = {self._job_of(task) for task in {*tasks, *self.evicted}}
            expected = ", ".join(tasks) or "nothing"
            self._fail(
                sorted(jobs),
                f"{expected} should be evicted, it was {', '.join(self.evicted) or 'nothing'}",
            )

    # -- explaining

    def explain(self, *jobs: str) -> str:
        """What plugins answered about these jobs and their tasks, in order."""
        lines: list[str] = []
        for job in jobs:
            reason = self.waiting(job)
            lines += [f"{job} waits: {reason}"] if reason else []
        votes = Counter(self._votes(jobs))
        shown = [line if n == 1 else f"{line} ({n} times)" for line, n in votes.items()]
        lines += shown[:_MAX_LINES]
        if len(shown) > _MAX_LINES:
            lines.append(f"… and {len(shown) - _MAX_LINES} more (outcome.events has all)")
        return "\n".join(f"  {line}" for line in lines) or "  no plugin was asked about it"

    def _votes(self, jobs: Sequence[str]) -> Iterator[str]:
        about = {_full(name) for job in jobs for name in (job, *self._tasks(job))}
        for event in self.events:
            args = event.get("args", [event.get("task")])
            if about.isdisjoint(_names(args)):
                continue
            voter = f"{event.get('plugin')}: {event.get('point')}"
            shown = ", ".join(_spell(arg) for arg in args)
            match event["event"]:
                case "vote":
                    yield f"{voter}({shown}) = {_spell(event['answer'])}"
                case "verdicts":
                    yield f"{voter}({shown}) rejects {event['rejected']} of {event['nodes']} nodes"
                case "scores":
                    best = f"at most {event['best']:g}"
                    yield f"{voter}({shown}) gives {best} to {event['nodes']} nodes"
                case "allocate" | "pipeline" | "bind":
                    yield f"{event['event']} {shown} on {event['node']}"
                case "evict" | "unevict":
                    yield f"{event['event']} {shown}"

    def _fail(self, jobs: str | Sequence[str], message: str) -> None:
        __tracebackhide__ = True
        named = [jobs] if isinstance(jobs, str) else list(jobs)
        raise AssertionError(f"{message}\nwhat plugins answered about it:\n{self.explain(*named)}")

    # -- names

    def _tasks(self, job: str) -> list[str]:
        group = _full(job)
        return [pod.name for pod in self.cluster.inventory.pods.values() if pod.group == group]

    def _pending(self, job: str) -> list[str]:
        pods = self.cluster.inventory.pods
        return [
            name
            for name in self._tasks(job)
            if not pods[name].node_name and pods[name].phase == "Pending"
        ]

    def _job_of(self, task: str) -> str:
        pod = self.cluster.inventory.pods.get(task)
        if pod is None:
            raise KeyError(f"the cluster has no task {task!r}")
        return _short(pod.group)

    def _state(self, job: str) -> JobState:
        for state in self.decisions.jobs:
            if state.job == _full(job):
                return state
        known = ", ".join(_short(state.job) for state in self.decisions.jobs)
        raise KeyError(f"the cluster has no job {job!r}; it has {known or 'none'}")


def _short(name: str) -> str:
    return name.removeprefix(f"{NAMESPACE}/")


def _full(name: str) -> str:
    return name if "/" in name else f"{NAMESPACE}/{name}"


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (name for item in value.values() for name in _names(item))
    elif isinstance(value, Sequence):
        yield from (name for item in value for name in _names(item))


def _spell(value: Any) -> str:
    if isinstance(value, str):
        return _short(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_spell, value))}]"
    if isinstance(value, dict) and set(value) <= {"nodes", "ok"}:
        return f"{value.get('ok', value.get('nodes'))} nodes"
    return str(value)
