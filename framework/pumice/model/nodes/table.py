"""The node table: what each node holds, counted in columns.

Rows are sorted by node name, so that the first maximum of a vector is the tie-break. Quantities
are 64-bit integers: adding and removing a task restores them exactly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from pumice.errors import StatementError
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.nodes.columns import resource_rows
from pumice.model.nodes.gpus import GpuColumns, NodeTask
from pumice.model.nodes.views import NodeHandle, NodeView
from pumice.model.sums import group_sums, stacked
from pumice.model.task import Task, TaskStatus

_RELEASING, _PIPELINED, _HOLDING = range(3)
_KIND = tuple(
    _RELEASING
    if status is TaskStatus.RELEASING
    else _PIPELINED
    if status is TaskStatus.PIPELINED
    else _HOLDING
    for status in TaskStatus
)
"""By status value: the columns in which a task counts."""


class NodeTable(GpuColumns):
    """All nodes of a session: their columns, the tasks on them, and the journal of changes."""

    def __init__(self, nodes: Iterable[Node], dimensions: Dimensions) -> None:
        super().__init__(nodes, dimensions)
        self.held: list[dict[str, NodeTask]] = [{} for _ in self.facts]
        """Per row: the tasks on the node, by uid."""
        self._handles: dict[int, NodeHandle] = {}

    def add(self, row: int, task: Task, status: TaskStatus) -> None:
        """Put a task on a node, counted as its status says."""
        held = self.held[row]
        if task.uid in held:
            raise StatementError(f"task {task.key} is already on node {self.names[row]}")
        entry = held[task.uid] = NodeTask(task, status)
        self._count(row, task.vector, status, 1)
        if entry.groups:
            self._share(row, entry, 1)

    def fill(self, tasks: Iterable[tuple[int, Task]]) -> None:
        """Put the tasks of a new cluster, of which nothing is cached, on their nodes by row."""
        rows: list[int] = []
        vectors: list[np.ndarray] = []
        kinds: list[int] = []
        for row, task in tasks:
            held, uid, status = self.held[row], task.uid, task.status
            if task.gpu_groups or uid in held:
                self.add(row, task, status)
                continue
            held[uid] = NodeTask(task, status)
            rows.append(row)
            vectors.append(task.vector)
            kinds.append(_KIND[status])
        if not rows:
            return
        numbers, amounts, kind_of = np.array(rows), stacked(vectors), np.array(kinds)
        self.pod_count += np.bincount(numbers, minlength=len(self))
        for kind in set(kinds):
            counted = kind_of == kind
            sums = group_sums(numbers[counted], amounts[counted], len(self))
            assert sums is not None
            if kind == _PIPELINED:
                self.pipelined += sums
            else:
                self.idle -= sums
                self.used += sums
            if kind == _RELEASING:
                self.releasing += sums
            else:
                self.future_idle -= sums

    def remove(self, row: int, task: Task) -> TaskStatus:
        """Remove a task from a node; returns the status under which it was counted."""
        entry = self._entry(row, task)
        del self.held[row][task.uid]
        if entry.groups:
            self._share(row, entry, -1)
        self._count(row, task.vector, entry.status, -1)
        return entry.status

    def recount(self, row: int, task: Task, status: TaskStatus) -> None:
        """Count a task that is on the node under another status."""
        entry = self.held[row].get(task.uid) or self._entry(row, task)
        old = entry.status
        if _KIND[old] == _KIND[status]:
            entry.status = status
            self._relabelled.append(row)
            return
        if entry.groups:
            self._share(row, entry, -1)
        entry.status = status
        if _PIPELINED in (_KIND[old], _KIND[status]):
            self._count(row, task.vector, old, -1)
            self._count(row, task.vector, status, 1)
        else:
            # The task stays on the node: only future idle changes.
            amount = task.vector if _KIND[status] == _RELEASING else -task.vector
            releasing, future = self.releasing[row], self.future_idle[row]
            releasing += amount
            future += amount
            self.touch(row)
        if entry.groups:
            self._share(row, entry, 1)

    def set_aside(self, row: int, task: Task) -> None:
        """Keep counting a releasing task that is placed again on other devices of the node."""
        held = self.held[row]
        held[_aside(task, self._asides(row, task))] = held.pop(task.uid)

    def take_back(self, row: int, task: Task) -> None:
        """Undo the last :meth:`set_aside`."""
        held = self.held[row]
        held[task.uid] = held.pop(_aside(task, self._asides(row, task) - 1))

    def _asides(self, row: int, task: Task) -> int:
        """How often the task counts as releasing beside its present place."""
        count = 0
        while _aside(task, count) in self.held[row]:
            count += 1
        return count

    def _entry(self, row: int, task: Task) -> NodeTask:
        entry = self.held[row].get(task.uid)
        if entry is None:
            raise StatementError(f"task {task.key} is not on node {self.names[row]}")
        return entry

    def _count(self, row: int, vector: np.ndarray, status: TaskStatus, sign: int) -> None:
        kind = _KIND[status]
        amount = vector if sign > 0 else -vector
        # `self.idle[row] -= amount` would write the row back after changing it in place.
        if kind == _PIPELINED:
            pipelined, future = self.pipelined[row], self.future_idle[row]
            pipelined += amount
            future -= amount
        else:
            idle, used = self.idle[row], self.used[row]
            idle -= amount
            used += amount
            if kind == _RELEASING:
                releasing = self.releasing[row]
                releasing += amount
            else:
                future = self.future_idle[row]
                future -= amount
        self.pod_count[row] += sign
        self.touch(row)

    # -- from cycle to cycle

    def rearrange(self, nodes: Iterable[Node]) -> np.ndarray:
        """Nodes came or went: let the rows be those of these nodes.

        Returns the old row of every new one, -1 for a node that came; :meth:`describe` its facts.
        """
        old_row, facts = self.row_of, sorted(nodes, key=lambda node: node.name)
        source = np.array([old_row.get(node.name, -1) for node in facts], np.intp)
        new_row = {old: row for row, old in enumerate(source.tolist()) if old >= 0}
        self._move_journal(new_row)
        self._move_columns(facts, source)
        self._move_shares(new_row)
        self.held = [self.held[old] if old >= 0 else {} for old in source.tolist()]
        self._handles = {}
        return source

    def describe(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        """Take over new facts about the nodes of some rows; their tasks are not counted."""
        for row, node in zip(rows, nodes, strict=True):
            self.facts[row] = node
            self._handles.pop(row, None)
        self.allocatable[rows] = resource_rows(
            (node.allocatable for node in nodes), self.dimensions
        )
        self.capacity[rows] = resource_rows((node.capacity for node in nodes), self.dimensions)
        self.max_pods[rows] = [node.max_pods for node in nodes]

    def refill(self, row: int, tasks: Iterable[Task]) -> None:
        """Let a node hold exactly these tasks, counted by the statuses that they have."""
        for column in (self.idle, self.future_idle):
            column[row] = self.allocatable[row]
        for column in (self.used, self.releasing, self.pipelined, self.pod_count):
            column[row] = 0
        self.forget_shares(row)
        self.held[row] = {}
        for task in tasks:
            self.add(row, task, task.status)

    def next_cycle(self, changed: Collection[int]) -> None:
        """Begin a new cycle: the facts about the nodes of these rows have changed."""
        self.clear_journal()
        self._fact_columns = {}
        self.lasting.next_cycle(changed)

    # -- views

    def view(self, rows: np.ndarray | None = None) -> NodeView:
        """These rows as vector forms of extension points get them; None: all."""
        return NodeView(self, rows)

    def handle(self, row: int) -> NodeHandle:
        """One node, as scalar forms of extension points get it."""
        handle = self._handles.get(row)
        if handle is None:
            handle = self._handles[row] = NodeHandle(self, row)
        return handle

    def get(self, name: str) -> NodeHandle | None:
        """One node by name, or None."""
        row = self.row_of.get(name)
        return None if row is None else self.handle(row)


def _aside(task: Task, number: int) -> str:
    return f"{task.uid}/releasing-{number}"
