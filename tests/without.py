"""Parts that do without what makes a scheduler right, for tests/known_bugs.py."""

from dataclasses import replace
from typing import Any

import numpy as np

from pumice import (
    Action,
    Job,
    NodeHandle,
    PipelinedTask,
    Session,
    Statement,
    Task,
    TaskStatus,
)
from pumice.backends.memory import MemoryBackend
from pumice.model.nodes.table import NodeTable


class Hasty(Action):
    """Evicts node by node until a task fits by the sums of requests, and commits.

    Of the jobs that it evicts from it counts all tasks, the finished ones as well.
    """

    evicts = True

    def execute(self, session: Session) -> None:
        for job in sorted(session.jobs.values(), key=lambda job: job.uid):
            with session.turn(job), session.statement() as statement:
                for task in sorted(job.pending, key=lambda task: task.key):
                    for node in session.nodes.view().handles():
                        if self._make_room(statement, task, node):
                            statement.pipeline(task, node.row)
                            break
                self.finish(statement)

    def finish(self, statement: Statement) -> None:
        statement.commit()

    def _make_room(self, statement: Statement, task: Task, node: NodeHandle) -> bool:
        free = node.table.future_idle[node.row].copy()
        evicted_from = set()
        for victim in sorted(node.tasks, key=_importance):
            job = victim.job
            if victim.status is not TaskStatus.RUNNING or job is None or job is task.job:
                continue
            statement.evict(victim, "in the way", claimant=task.job)
            if job.uid not in evicted_from:
                evicted_from.add(job.uid)
                free += sum(t.vector for t in job.tasks.values() if t.node == node.name)
            if (task.vector <= free).all():
                return True
        return bool((task.vector <= free).all())


class Abandoning(Hasty):
    """Does the same, and leaves its statements without a commit."""

    def finish(self, statement: Statement) -> None:
        pass


def _importance(task: Task) -> tuple[int, str]:
    return (task.job.priority if task.job is not None else 0, task.key)


def hasty(**switches: bool) -> dict[str, Any]:
    """The policy of the scenario with the hasty action before those that evict."""
    actions = ["enqueue", "fair_allocate", "hasty", "solve_reclaim", "solve_preempt"]
    return {"actions": actions, "evictions": switches}


def refuse(*_arguments: object) -> None:
    raise ArithmeticError("below zero")


def nothing(*_arguments: object, **_options: object) -> None:
    """A step that is left out."""


def always(*_arguments: object, **_options: object) -> bool:
    return True


def never(*_arguments: object) -> bool:
    return False


def stop(_guard: object, _claimant: object, task: Task, **_options: object) -> str:
    return f"{task.key} ends the search"


def nominate_always(backend: MemoryBackend, task: PipelinedTask) -> None:
    _NOMINATE(backend, replace(task, eviction_occurred=True))


def forget_promises(
    table: NodeTable, row: int, vector: np.ndarray, status: TaskStatus, sign: int
) -> None:
    _COUNT(table, row, vector * (status is not TaskStatus.PIPELINED), status, sign)


def stored_phase(job: Job, _transition: str) -> str:
    return job.phase


_NOMINATE, _COUNT = MemoryBackend._nominate, NodeTable._count
