"""The slow, obvious twin of the engine: enqueue, allocate and backfill in plain Python.

No memo, no vectors, no heaps, no statements: every question is asked each time, node by node, the
next in line is found by looking at everybody, and room is counted in dicts of integers. It serves
jobs without topology and without sub-groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from pumice.combine import SKIP
from pumice.model.facts import Queue
from pumice.model.job import Job
from pumice.model.task import ALLOCATED_STATUSES, Task, TaskStatus
from pumice.plugin import SCOPE_ATTRIBUTE
from pumice.session.session import Session
from pumice.verdicts import Code, FitError

_S = TaskStatus
_T = TypeVar("_T")
GATE = "scheduling.volcano.sh/queue-allocation-gate"


@dataclass
class Outcome:
    """What a cycle decided."""

    binds: list[tuple[str, str]] = field(default_factory=list)
    promises: dict[str, str] = field(default_factory=dict)
    phases: dict[str, str] = field(default_factory=dict)


class Room:
    """What one node has left, by resource."""

    def __init__(self, allocatable: dict[str, int]) -> None:
        self.idle = Counter(allocatable)
        self.leaving: Counter[str] = Counter()
        self.promised: Counter[str] = Counter()

    def count(self, request: dict[str, int], status: TaskStatus, sign: int) -> None:
        for name, amount in request.items():
            if status is _S.PIPELINED:
                self.promised[name] += sign * amount
                continue
            self.idle[name] -= sign * amount
            if status is _S.RELEASING:
                self.leaving[name] += sign * amount

    def fits_now(self, request: dict[str, int]) -> bool:
        return all(amount <= self.idle[name] for name, amount in request.items())

    def fits_later(self, request: dict[str, int]) -> bool:
        return all(
            amount <= self.idle[name] + self.leaving[name] - self.promised[name]
            for name, amount in request.items()
        )


class Twin:
    """Runs one cycle on a session of its own."""

    def __init__(self, session: Session) -> None:
        self.session, self.ask = session, session.ask
        self.outcome = Outcome()
        self.failed: set[str] = set()
        """Uids of tasks that found no node."""
        self.rooms = {
            node.name: Room({name: int(amount) for name, amount in node.allocatable.items()})
            for node in session.nodes.facts
        }
        for task in session.cluster.tasks.values():
            waiting = (_S.PENDING, _S.SUCCEEDED, _S.FAILED)
            if task.node in self.rooms and task.status not in waiting:
                self.rooms[task.node].count(request_of(task), task.status, 1)

    def run(self) -> Outcome:
        for action in self.session.policy.actions:
            {"enqueue": self.enqueue, "allocate": self.allocate, "backfill": self.backfill}[
                action.name
            ]()
        self.ask.on_session_close()
        for job in self.jobs():
            self.outcome.phases[job.uid] = self.phase(job)
            for task in job.tasks.values():
                if task.status is _S.PIPELINED:
                    self.outcome.promises[task.key] = task.node
        return self.outcome

    def jobs(self) -> Iterator[Job]:
        return iter(self.session.jobs.values())

    # -- who is next

    def queue_before(self, left: Queue, right: Queue) -> bool:
        answer = self.ask.queue_order(left, right, None, None, (), ())
        return answer < 0 if answer else (left.created, left.name) < (right.created, right.name)

    def job_before(self, left: Job, right: Job) -> bool:
        answer = self.ask.job_order(left, right)
        return answer < 0 if answer else (left.created, left.uid) < (right.created, right.uid)

    def task_before(self, left: Task, right: Task) -> bool:
        answer = self.ask.task_order(left, right)
        if answer:
            return answer < 0
        indices = [task.name.split("-") for task in (left, right)]
        if all(len(parts) >= 3 and parts[-1].isdigit() for parts in indices):
            l_index, r_index = (int(parts[-1]) for parts in indices)
            if l_index != r_index:
                return l_index < r_index
        return (left.created, left.uid) < (right.created, right.uid)

    # -- the actions

    def enqueue(self) -> None:
        queues = [q for q in self.session.queues.values() if self.jobs_of(q)]
        waiting = {q.name: [j for j in self.jobs_of(q) if pending(j)] for q in queues}
        while queues:
            queue = take_first(queues, self.queue_before)
            if not waiting[queue.name]:
                continue
            job = take_first(waiting[queue.name], self.job_before)
            if job.min_resources is None or self.ask.job_enqueueable(job):
                self.ask.job_enqueued(job)
                job.phase = "Inqueue"
            queues.append(queue)

    def jobs_of(self, queue: Queue) -> list[Job]:
        return [job for job in self.jobs() if job.queue == queue.name]

    def allocate(self) -> None:
        runs_enqueue = any(action.name == "enqueue" for action in self.session.policy.actions)
        waiting: dict[str, list[Job]] = {}
        left: dict[str, list[Task]] = {}
        for job in self.jobs():
            if pending(job):
                if runs_enqueue:
                    continue
                job.phase = "Inqueue"
            if self.ask.job_valid(job) is not None:
                continue
            left[job.uid] = self.in_order(
                task
                for task in job.tasks.values()
                if task.status is _S.PENDING
                and not task.best_effort
                and task.pod.gates in ((), (GATE,))
            )
            if left[job.uid]:
                waiting.setdefault(job.queue, []).append(job)
        queues = [self.session.queues[name] for name in waiting]
        while queues:
            queue = take_first(queues, self.queue_before)
            if self.ask.overused(queue) or not waiting[queue.name]:
                continue
            job = take_first(waiting[queue.name], self.job_before)
            if self.serve(job, queue, left[job.uid]):
                waiting[queue.name].append(job)
            queues.append(queue)

    def serve(self, job: Job, queue: Queue, tasks: list[Task]) -> bool:
        """One turn of a job; whether it should get another one."""
        placed: list[Task] = []
        bad: dict[str, set[str]] = {}
        while tasks:
            task = tasks.pop(0)
            if not self.ask.allocatable(queue, task) or task.gated:
                continue
            if task.role and any(
                t.uid in self.failed and t.role == task.role for t in siblings(task)
            ):
                self.failed.add(task.uid)
                continue
            place = self.find_place(task, bad)
            if place is None:
                self.failed.add(task.uid)
                if self.worth_continuing(job):
                    continue
                break
            if not self.put(task, place):
                continue
            placed.append(task)
            if self.ask.job_ready(job):
                break
        if self.ask.job_ready(job):
            for task in placed:
                if task.status is _S.ALLOCATED:
                    self.bind(task)
            return bool(tasks)
        if not self.ask.job_pipelined(job):
            for task in reversed(placed):
                self.take_back(task)
        return False

    def backfill(self) -> None:
        queues = [
            queue
            for queue in self.session.queues.values()
            if any(self.is_served(job) for job in self.jobs_of(queue))
        ]
        line: list[tuple[Job, list[Task]]] = []
        while queues:
            jobs = [
                j for j in self.jobs_of(take_first(queues, self.queue_before)) if self.is_served(j)
            ]
            while jobs:
                job = take_first(jobs, self.job_before)
                for task in job.tasks.values():
                    if task.status is _S.PIPELINED and task.best_effort:
                        self.take_back(task)
                line.append(
                    (
                        job,
                        self.in_order(
                            task
                            for task in job.tasks.values()
                            if task.status is _S.PENDING and task.best_effort and not task.gated
                        ),
                    )
                )
        for job, tasks in line:
            for task in tasks:
                self.fill(job, task)

    def is_served(self, job: Job) -> bool:
        return not pending(job) and self.ask.job_valid(job) is None

    def fill(self, job: Job, task: Task) -> None:
        skipped = self.prepare(task)
        if skipped is None:
            return
        nodes = [name for name in self.rooms if self.passes(task, name, skipped)]
        if not nodes:
            return
        self.put(task, self.best(task, nodes), _S.ALLOCATED)
        if self.ask.job_ready(job):
            for placed in sorted(job.tasks.values(), key=lambda t: t.key):
                if placed.status is _S.ALLOCATED:
                    self.bind(placed)

    # -- a place for a task

    def find_place(self, task: Task, bad: dict[str, set[str]]) -> str | None:
        """The best node; those that failed for an earlier task of the role in this turn are out."""
        skipped = self.prepare(task)
        if skipped is None:
            return None
        if task.nominated_node in self.rooms:
            place = self.search(task, [task.nominated_node], skipped, bad)
            if place is not None:
                return place
        return self.search(task, list(self.rooms), skipped, bad)

    def search(
        self, task: Task, names: list[str], skipped: set[str], bad: dict[str, set[str]]
    ) -> str | None:
        known = set(bad.get(task.role, ())) if task.role else set()
        request = request_of(task)
        found = []
        for name in names:
            if name in known:
                continue
            if self.rooms[name].fits_later(request) and self.passes(task, name, skipped):
                found.append(name)
            else:
                bad.setdefault(task.role, set()).add(name)
        idle = [name for name in found if self.rooms[name].fits_now(request)]
        return self.best(task, idle or found) if found else None

    def prepare(self, task: Task) -> set[str] | None:
        """The plugins that leave the task alone, or None when one says that it fits nowhere."""
        skipped = set()
        for impl in self.voters("pre_predicate"):
            answer = impl.fn(task, task.job)
            if answer is SKIP:
                skipped.add(impl.plugin)
            elif answer is not None:
                return None
        return skipped

    def passes(self, task: Task, name: str, skipped: set[str]) -> bool:
        row = self.session.nodes.row_of[name]
        scalar = {impl.plugin: impl.fn for impl in self.voters("predicate")}
        vector = {impl.plugin: impl.fn for impl in self.voters("predicate_nodes")}
        for plugin in (*scalar, *(p for p in vector if p not in scalar)):
            if plugin in skipped:
                continue
            if plugin in scalar:
                error = scalar[plugin](task, self.session.nodes.handle(row), task.job)
            else:
                verdicts = vector[plugin](task, self.session.nodes.view(np.array([row])))
                error = None if verdicts is None else verdicts.error(0)
            if error is not None and (not isinstance(error, FitError) or error.code is not Code.OK):
                return False
        return True

    def best(self, task: Task, names: list[str]) -> str:
        """The first of those with the highest score."""
        names = sorted(names)
        if len(names) == 1:
            return names[0]
        rows = [self.session.nodes.row_of[name] for name in names]
        totals = [0.0] * len(names)
        scalar = {impl.plugin: impl.fn for impl in self.voters("node_order")}
        vector = {impl.plugin: impl.fn for impl in self.voters("batch_node_order")}
        for plugin in (*scalar, *(p for p in vector if p not in scalar)):
            if plugin in vector and (plugin not in scalar or self.looks_around(plugin, task)):
                scores = vector[plugin](task, self.session.nodes.view(np.array(rows)))
            else:
                scores = [scalar[plugin](task, self.session.nodes.handle(row)) for row in rows]
            for position in range(len(names)):
                totals[position] += 0.0 if scores is None else float(scores[position] or 0.0)
        return names[totals.index(max(totals))]

    def looks_around(self, plugin: str, task: Task) -> bool:
        """Whether a score depends on which nodes are asked about together."""
        instance = self.session.plugins[plugin]
        scope = getattr(instance.batch_node_order, SCOPE_ATTRIBUTE)  # type: ignore[attr-defined]
        return bool((scope(instance, task) if callable(scope) else scope) == "cluster")

    def voters(self, point: str) -> list[Any]:
        return [impl for tier in self.ask.voters[point] for impl, _ in tier]

    def in_order(self, tasks: Iterable[Task]) -> list[Task]:
        rest, line = list(tasks), []
        while rest:
            line.append(take_first(rest, self.task_before))
        return line

    def worth_continuing(self, job: Job) -> bool:
        """Whether, after a task found no node, the others may still complete the job."""
        tasks = list(job.tasks.values())
        if job.min_available >= len(tasks):
            return False
        failed_roles = {task.role for task in tasks if task.uid in self.failed}
        minimums = job.group.min_task_member
        if job.min_available < sum(minimums.values()):
            ready = [t for t in tasks if t.status in {*ALLOCATED_STATUSES, _S.SUCCEEDED}]
            others = [t for t in tasks if t.status is _S.PENDING and t.role not in failed_roles]
            return len(ready) + len(others) >= job.min_available
        for role in failed_roles:
            held = [t for t in tasks if t.role == role and t.status in ALLOCATED_STATUSES]
            if minimums.get(role, 0) and len(held) < minimums[role]:
                return False
        return True

    # -- doing and undoing

    def put(self, task: Task, name: str, status: TaskStatus | None = None) -> bool:
        """Place a task, now or by promise; False when a plugin objects."""
        if status is None:
            fits = self.rooms[name].fits_now(request_of(task))
            status = _S.ALLOCATED if fits else _S.PIPELINED
        self.rooms[name].count(request_of(task), status, 1)
        self.session.nodes.add(self.session.nodes.row_of[name], task, status)
        self.job_of(task).set_status(task, status)
        task.node = name
        if self.ask.on_allocate(task) is not None:
            self.take_back(task)
            return False
        return True

    def take_back(self, task: Task) -> None:
        self.rooms[task.node].count(request_of(task), task.status, -1)
        self.session.nodes.remove(self.session.nodes.row_of[task.node], task)
        self.job_of(task).set_status(task, _S.PENDING)
        self.ask.on_deallocate(task)
        task.node = ""

    def bind(self, task: Task) -> None:
        self.job_of(task).set_status(task, _S.BINDING)
        self.outcome.binds.append((task.key, task.node))

    @staticmethod
    def job_of(task: Task) -> Job:
        assert task.job is not None
        return task.job

    def phase(self, job: Job) -> str:
        tasks = list(job.tasks.values())
        count = Counter(task.status for task in tasks)
        unschedulable = any(
            (c["type"], c["status"], c["transitionID"])
            == ("Unschedulable", "True", self.session.uid)
            for c in job.conditions
        )
        if count[_S.RUNNING] and unschedulable:
            return "Unknown"
        done = count[_S.FAILED] + count[_S.SUCCEEDED]
        leaving = sum(1 for task in tasks if task.status is _S.RELEASING and task.node)
        scheduled = count[_S.RUNNING] + count[_S.BOUND] + done + leaving
        if scheduled >= job.group.min_member:
            return "Completed" if scheduled == done else "Running"
        return "Inqueue" if job.phase == "Inqueue" else "Pending"


def pending(job: Job) -> bool:
    return job.phase in ("", "Pending")


def siblings(task: Task) -> Iterable[Task]:
    return task.job.tasks.values() if task.job is not None else ()


def request_of(task: Task) -> dict[str, int]:
    """What must fit: cpu and memory always, other resources where they are asked for."""
    return {
        name: int(amount)
        for name, amount in task.request.items()
        if amount > 0 or name in ("cpu", "memory")
    }


def take_first(items: list[_T], before: Callable[[_T, _T], bool]) -> _T:
    """Take out the one that comes before all others."""
    first = items[0]
    for item in items[1:]:
        if before(item, first):
            first = item
    items.remove(first)
    return first
