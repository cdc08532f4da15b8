"""Parts of an explanation: one task, one node, one queue, or the evictions only."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice._nearest import did_you_mean
from pumice.errors import PumiceError
from pumice.explain.explanation import Explanation, Level, amounts
from pumice.explain.levels import free_numbers, used_by
from pumice.explain.verdict import names
from pumice.model.quantity import shown
from pumice.model.resources import Resource
from pumice.model.task import Task, TaskStatus

if TYPE_CHECKING:
    from pumice.explain.job import ExplainedCycle
    from pumice.session.session import Session


def only_evictions(explanation: Explanation) -> Explanation:
    """Only who evicted tasks of the job."""
    levels = tuple(level for level in explanation.levels if level.level == "eviction")
    if not levels:
        text = "no task of it was evicted in this cycle"
        return replace(explanation, levels=(Level("eviction", True, text),), victims=())
    return replace(explanation, levels=levels, victims=())


def task_explanation(cycle: ExplainedCycle, explanation: Explanation, name: str) -> Explanation:
    """The explanation with the nodes of one task instead of those of the first that failed.

    :raises PumiceError: the job has no such task.
    """
    task = _task(cycle.session, explanation.job, name)
    errors = task.job.fit_errors.get(task.uid) if task.job is not None else None
    if task.node:
        level = Level("nodes", True, f"{task.name} is {task.status.label} on {task.node}")
    elif errors is None:
        level = Level("nodes", False, f"{task.name} is {task.status.label}: no node was tried")
    else:
        numbers = {"asked": amounts(task.request), **free_numbers(cycle.session, task)}
        level = Level("nodes", False, f"{task.name}: {errors}", numbers=numbers)
    levels = [level if one.level == "nodes" else one for one in explanation.levels]
    return replace(explanation, levels=tuple(levels))


def _task(session: Session, job: str, name: str) -> Task:
    tasks = {task.name: task for task in session.jobs[job].tasks.values()}
    found = tasks.get(name.rpartition("/")[2])
    if found is None:
        near = did_you_mean(name, tasks)
        listed = names(sorted(tasks))
        raise PumiceError(f"job {job} has no task {name!r}{near}", hint=f"it has {listed}")
    return found


def node_text(cycle: ExplainedCycle, job: str, node: str) -> str:
    """Why one node takes the pending tasks of a job, or does not.

    :raises PumiceError: there is no such node.
    """
    session = cycle.session
    row = session.nodes.row_of.get(node)
    if row is None:
        near = did_you_mean(node, session.nodes.row_of)
        known = names(sorted(session.nodes.row_of))
        raise PumiceError(f"there is no node {node!r}{near}", hint=f"there are {known}")
    pending = list(session.jobs[job].by_status[TaskStatus.PENDING].values())
    if not pending:
        return f"{job} has no pending task: there is nothing to ask node {node} about"
    task = pending[0]
    reason = _objection(session, task, row)
    lines = [f"node {node} {'would take' if reason is None else 'does not take'} {task.key}"]
    if reason is not None:
        lines[0] += f": {reason}"
    dimensions = session.nodes.dimensions.names
    for column, name in enumerate(dimensions):
        asked = int(task.vector[column])
        if asked and name != "pods":
            free, future = (
                int(table[row][column]) for table in (session.nodes.idle, session.nodes.future_idle)
            )
            later = f", {shown(name, future)} once pods have ended" if future != free else ""
            lines.append(
                f"  {name}: asks for {shown(name, asked)}, {shown(name, free)} free{later}, of "
                f"{shown(name, int(session.nodes.allocatable[row][column]))}"
            )
    held = [session.cluster.tasks[uid] for uid in session.nodes.held[row]]
    by_job = Counter(one.job.uid if one.job is not None else "no job" for one in held)
    if by_job:
        listed = [f"{uid} ({count})" for uid, count in by_job.most_common()]
        lines.append(f"  on it: {names(listed)}")
    return "\n".join(lines)


def _objection(session: Session, task: Task, row: int) -> str | None:
    error = session.queries.prepare(task)
    if error is None:
        errors = session.queries.fit_errors(task, np.array([row]))
        verdicts = errors.verdicts
        error = verdicts.error(0) if verdicts is not None else None
    if error is None:
        return None
    parts = [f"{s.reason}{f' ({s.plugin})' if s.plugin else ''}" for s in error.statuses]
    return "; ".join(parts)


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """What a queue holds, deserves and may hold, and why its jobs wait."""

    queue: str
    state: str
    numbers: dict[str, Any]
    waiting: dict[str, list[str]]
    """By reason code: the jobs that wait."""
    running: int

    def to_dict(self) -> dict[str, Any]:
        """The shape of ``pumice explain --queue NAME -o json``."""
        return {
            "queue": self.queue,
            "state": self.state,
            "running": self.running,
            "numbers": self.numbers,
            "waiting": self.waiting,
        }

    @property
    def text(self) -> str:
        """For a terminal."""
        waiting = sum(map(len, self.waiting.values()))
        lines = [f"queue {self.queue} is {self.state}: {self.running} jobs run, {waiting} wait"]
        for name, value in self.numbers.items():
            said = ", ".join(f"{n} {what}" for what, n in value.items()) or "nothing"
            lines.append(f"  {name.replace('_', ' ')}: {said}")
        for code, jobs in self.waiting.items():
            lines.append(f"  {len(jobs)} {code}: {names(jobs)}")
        return "\n".join(lines)


def queue_facts(cycle: ExplainedCycle, name: str) -> QueueFacts:
    """A queue at the end of the cycle.

    :raises PumiceError: there is no such queue.
    """
    session = cycle.session
    queue = session.queues.get(name)
    if queue is None:
        near = did_you_mean(name, session.queues) or f"; known: {names(sorted(session.queues))}"
        raise PumiceError(f"there is no queue {name!r}{near}")
    numbers: dict[str, Any] = {"used": amounts(used_by(session, name))}
    for what, found in (
        ("deserved", session.ask.get_queue_deserved_resources(queue)),
        ("fair_share", session.ask.get_queue_fair_share(queue)),
        ("limit", queue.limit),
        ("guarantee", queue.guarantee),
    ):
        if isinstance(found, Resource):
            numbers[what] = amounts(found)
    states = [state for state in cycle.decisions.jobs if state.queue == name]
    waiting: dict[str, list[str]] = {}
    for state in states:
        if state.code:
            waiting.setdefault(state.code, []).append(state.job)
    running = sum(not state.code and state.ready > 0 for state in states)
    return QueueFacts(name, queue.state, numbers, waiting, running)
