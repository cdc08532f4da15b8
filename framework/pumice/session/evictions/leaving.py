"""Pods that were terminating when the cycle began: plans are made for when they have gone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pumice.model.task import Task, TaskStatus

if TYPE_CHECKING:
    from pumice.session.session import Session

_RELEASING, _PIPELINED = TaskStatus.RELEASING, TaskStatus.PIPELINED


class LeavingPods:
    """The terminating pods of a session whose room is counted on."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._gone = False

    @cached_property
    def _tasks(self) -> list[tuple[Task, int]]:
        """With their rows: not the overdue ones, and not those with volumes or claims, because what
        these hold cannot be given back exactly."""
        session, nodes = self._session, self._session.nodes
        evicted = {eviction.uid for eviction in session.decisions.evictions}
        found = []
        for job in session.jobs.values():
            # A reservation may have pipelined a terminating pod already, where it will run next.
            for task in (*job.by_status[_RELEASING].values(), *job.by_status[_PIPELINED].values()):
                row = nodes.row_of.get(task.pod.node_name)
                if row is None or task.virtual or task.uid in evicted:
                    continue
                held = nodes.held[row].get(task.uid)
                counted_on = held is not None and held.status is _RELEASING
                if counted_on and not (task.pod.volumes or task.pod.resource_claims):
                    found.append((task, row))
        return found

    def __bool__(self) -> bool:
        return bool(self._tasks)

    def outlasts(self, task: Task) -> bool:
        """Whether the filters still accept a pipelined task on its node once they have gone."""
        session = self._session
        row = session.nodes.row_of[task.node]
        with self.gone():
            session.undone(session.ask.on_deallocate(task))
            session.nodes.touch(row)
            try:
                error = session.queries.prepare(task) or session.queries.predicate(task, row)
            finally:
                session.undone(session.ask.on_allocate(task))
                session.nodes.touch(row)
        return error is None

    @contextmanager
    def gone(self) -> Iterator[None]:
        """For the filters they have gone; to their queues they do not count any more anyway."""
        if self._gone or not self._tasks:
            yield
            return
        session, nodes = self._session, self._session.nodes
        leaves = session.ask.notify_filters("on_deallocate")
        comes = session.ask.notify_filters("on_allocate")
        gone: list[tuple[Task, int]] = []
        self._gone = True
        try:
            for task, row in self._tasks:
                gone.append((task, row))
                with _on_its_old_node(task):
                    session.undone(leaves(task))
                nodes.touch(row)
            yield
        finally:
            self._gone = False
            for task, row in reversed(gone):
                with _on_its_old_node(task):
                    session.undone(comes(task))
                nodes.touch(row)


@contextmanager
def _on_its_old_node(task: Task) -> Iterator[None]:
    """Plugins that are notified read the node of the task."""
    node, task.node = task.node, task.pod.node_name
    try:
        yield
    finally:
        task.node = node
