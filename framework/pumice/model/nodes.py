"""The node table: every node's quantities as columns, what each node holds, and a journal.

Rows are sorted by node name, so that the first maximum of a vector is the tie-break. Quantities
are 64-bit integers: adding and taking away again restores them exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pumice.errors import StatementError
from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.gpu.request import GPU
from pumice.model.gpu.shares import GpuShares
from pumice.model.incremental.column_cache import ColumnCache
from pumice.model.resources import Resource
from pumice.model.task import Task, TaskStatus

_JOURNAL_LIMIT = 1 << 16
GpuBooks = tuple[int, int, int, frozenset[str]]
"""Idle, releasing and future idle whole GPUs, and the groups whose device is releasing."""


class Held:
    """A task on a node, with the status and the GPU groups under which the node counts it."""

    __slots__ = ("groups", "status", "task")

    def __init__(self, task: Task, status: TaskStatus) -> None:
        self.task = task
        """The task."""
        self.status = status
        """The status that the node's columns count it under."""
        self.groups = task.gpu_groups
        """The GPU groups that the node's columns count it under."""


class NodeTable:
    """All nodes of a session."""

    def __init__(self, nodes: Iterable[Node], dimensions: Dimensions) -> None:
        self.dimensions = dimensions
        """The resources, in the order of the columns."""
        self.facts: list[Node] = sorted(nodes, key=lambda node: node.name)
        """The nodes as the cluster reports them, by row."""
        self.names: list[str] = [node.name for node in self.facts]
        """The names of the nodes, by row."""
        self.row_of: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        """Name of a node → row."""
        shape = (len(self.facts), len(dimensions))
        self.allocatable = _amounts((node.allocatable for node in self.facts), dimensions)
        """The resources for pods, a row for each node."""
        self.capacity = _amounts((node.capacity for node in self.facts), dimensions)
        """All resources of the nodes."""
        self.idle = self.allocatable.copy()
        """The resources that no task holds."""
        self.used = np.zeros(shape, np.int64)
        """The resources that tasks hold."""
        self.releasing = np.zeros(shape, np.int64)
        """The resources of tasks that are being evicted."""
        self.pipelined = np.zeros(shape, np.int64)
        """The resources that pipelined tasks wait for."""
        self.future_idle = self.idle.copy()
        """idle + releasing - pipelined: what is free once everything promised has happened."""
        self.max_pods = np.array([node.max_pods for node in self.facts], np.int64)
        """How many pods each node takes."""
        self.pod_count = np.zeros(shape[0], np.int64)
        """How many pods each node has."""
        self.held: list[dict[str, Held]] = [{} for _ in self.facts]
        """Per row: the tasks on the node, by uid."""
        self._journal: list[int] = []
        self._journal_base = 0
        self.tells_changes = True
        """Whether the journal may be read; without, everything may have changed."""
        self._earlier: set[int] = set()
        """Rows that changed before the journal begins."""
        self._relabelled: list[int] = []
        """Rows on which a status changed that counts the same."""
        self._fact_columns: dict[Hashable, np.ndarray] = {}
        self.lasting = ColumnCache()
        """Fact columns that are kept from cycle to cycle."""
        self._handles: dict[int, NodeHandle] = {}
        self._shares: dict[int, GpuShares] = {}
        self.sharing: set[int] = set()
        """Rows of the nodes on which GPUs are shared."""
        self.claimable = np.zeros(shape[0], np.int64)
        """Per row: GPUs to be had through resource claims only."""
        self.all_rows = np.arange(shape[0])
        """All row numbers, ascending."""

    def __len__(self) -> int:
        return len(self.facts)

    # -- what a node holds

    def add(self, row: int, task: Task, status: TaskStatus) -> None:
        """Put a task on a node, counted as its status says."""
        held = self.held[row]
        if task.uid in held:
            raise StatementError(f"task {task.key} is already on node {self.names[row]}")
        entry = held[task.uid] = Held(task, status)
        self._count(row, task.vector, status, 1)
        if entry.groups:
            self._share(row, entry, 1)

    def remove(self, row: int, task: Task) -> TaskStatus:
        """Take a task off a node; the status under which it was counted is given back."""
        entry = self._entry(row, task)
        del self.held[row][task.uid]
        if entry.groups:
            self._share(row, entry, -1)
        self._count(row, task.vector, entry.status, -1)
        return entry.status

    def recount(self, row: int, task: Task, status: TaskStatus) -> None:
        """Count a task that is on the node under another status."""
        entry = self._entry(row, task)
        old = entry.status
        if _KIND[old] == _KIND[status]:
            entry.status = status
            self._relabelled.append(row)
            return
        if entry.groups:
            self._share(row, entry, -1)
        entry.status = status
        if _PROMISED in (_KIND[old], _KIND[status]):
            self._count(row, task.vector, old, -1)
            self._count(row, task.vector, status, 1)
        else:
            # It stays where it is: only what will be free changes.
            amount = task.vector if _KIND[status] == _LEAVING else -task.vector
            releasing, future = self.releasing[row], self.future_idle[row]
            releasing += amount
            future += amount
            self.touch(row)
        if entry.groups:
            self._share(row, entry, 1)

    def set_aside(self, row: int, task: Task) -> None:
        """Keep counting a leaving task while it comes back to the node on other devices."""
        held = self.held[row]
        held[_aside(task, self._asides(row, task))] = held.pop(task.uid)

    def take_back(self, row: int, task: Task) -> None:
        """Undo the last :meth:`set_aside`."""
        held = self.held[row]
        held[task.uid] = held.pop(_aside(task, self._asides(row, task) - 1))

    def _asides(self, row: int, task: Task) -> int:
        """How often the task is counted as leaving beside its present place."""
        count = 0
        while _aside(task, count) in self.held[row]:
            count += 1
        return count

    def _entry(self, row: int, task: Task) -> Held:
        entry = self.held[row].get(task.uid)
        if entry is None:
            raise StatementError(f"task {task.key} is not on node {self.names[row]}")
        return entry

    def shares(self, row: int) -> GpuShares:
        """The shared GPUs of a node."""
        found = self._shares.get(row)
        if found is None:
            found = self._shares[row] = GpuShares(self.facts[row])
        return found

    @property
    def sharing_rows(self) -> list[int]:
        """The same in order."""
        return sorted(self.sharing)

    def _share(self, row: int, entry: Held, sign: int) -> None:
        """Count a task on its GPU groups; whole GPUs become shared ones and come back."""
        shares, gpu = self.shares(row), self.dimensions.position[GPU]
        memory = entry.task.gpu.device_memory(shares.memory_per_gpu)
        change = shares.add if sign > 0 else shares.remove
        for group in entry.groups:
            idle = int(self.idle[row, gpu] / 1000)
            whole = int((self.used[row, gpu] + self.pipelined[row, gpu]) / 1000)
            d_idle, d_releasing = change(group, memory, entry.status, idle, whole)
            self.idle[row, gpu] += d_idle * 1000
            self.releasing[row, gpu] += d_releasing * 1000
            self.future_idle[row, gpu] += (d_idle + d_releasing) * 1000
        if shares.used:
            self.sharing.add(row)
        else:
            self.sharing.discard(row)

    def gpu_books(self, row: int) -> GpuBooks:
        """How the node counts the GPUs that are shared or might be: for :meth:`reset_gpu_books`."""
        gpu = self.dimensions.position[GPU]
        counts = (column[row, gpu].item() for column in self._gpu_columns())
        idle, releasing, future_idle = counts
        return idle, releasing, future_idle, frozenset(self.shares(row).marked)

    def reset_gpu_books(self, row: int, books: GpuBooks) -> None:
        """Count the node's GPUs as before, after the tasks have been put as they were.

        Whether a device counts as whole depends on the way by which it came to be shared, so
        that adding a task and taking it away again may end in other counts.
        """
        gpu = self.dimensions.position[GPU]
        *counts, marked = books
        for column, count in zip(self._gpu_columns(), counts, strict=True):
            column[row, gpu] = count
        self.shares(row).marked = set(marked)
        self.touch(row)

    def _gpu_columns(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.idle, self.releasing, self.future_idle

    def _count(self, row: int, vector: np.ndarray, status: TaskStatus, sign: int) -> None:
        kind = _KIND[status]
        amount = vector if sign > 0 else -vector
        # By way of the rows: an array is not to write back what was changed in place.
        if kind == _PROMISED:
            pipelined, future = self.pipelined[row], self.future_idle[row]
            pipelined += amount
            future -= amount
        else:
            idle, used = self.idle[row], self.used[row]
            idle -= amount
            used += amount
            if kind == _LEAVING:
                releasing = self.releasing[row]
                releasing += amount
            else:
                future = self.future_idle[row]
                future -= amount
        self.pod_count[row] += sign
        self.touch(row)

    # -- the journal of changed rows

    def touch(self, row: int) -> None:
        """Note that something about a row changed, so that remembered answers are renewed."""
        journal = self._journal
        journal.append(row)
        if len(journal) > _JOURNAL_LIMIT:
            self._journal_base += len(journal)
            self._earlier.update(journal)
            self._journal = []

    @property
    def version(self) -> int:
        """Grows with every change and never comes back, undo included."""
        return self._journal_base + len(self._journal)

    def changed_since(self, version: int) -> list[int] | None:
        """The rows changed since a version, without repetition; None: it cannot be told."""
        start = version - self._journal_base
        if start < 0 or not self.tells_changes:
            return None
        recent = self._journal[start:]
        return recent if len(recent) < 2 else sorted(set(recent))

    # -- from cycle to cycle

    def touched(self) -> set[int]:
        """All rows on which anything has happened in the cycle, undone or not."""
        return self._earlier.union(self._journal, self._relabelled)

    def describe(self, rows: Sequence[int], nodes: Sequence[Node]) -> None:
        """Take up new facts about the nodes of some rows; what these hold is not counted."""
        for row, node in zip(rows, nodes, strict=True):
            self.facts[row] = node
            self._handles.pop(row, None)
        self.allocatable[rows] = _amounts((node.allocatable for node in nodes), self.dimensions)
        self.capacity[rows] = _amounts((node.capacity for node in nodes), self.dimensions)
        self.max_pods[rows] = [node.max_pods for node in nodes]

    def refill(self, row: int, tasks: Iterable[Task]) -> None:
        """Let a node hold these tasks and nothing else, counted by the statuses that they have."""
        for column in (self.idle, self.future_idle):
            column[row] = self.allocatable[row]
        for column in (self.used, self.releasing, self.pipelined, self.pod_count):
            column[row] = 0
        self.forget_shares(row)
        self.held[row] = {}
        for task in tasks:
            self.add(row, task, task.status)

    def forget_shares(self, row: int) -> None:
        """No GPU of a node is shared any more."""
        self._shares.pop(row, None)
        self.sharing.discard(row)

    def next_cycle(self, changed: Collection[int]) -> None:
        """Begin a new cycle: the facts about the nodes of these rows have changed."""
        self._journal, self._journal_base = [], 0
        self._earlier, self._relabelled = set(), []
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

    def fact_column(
        self,
        key: Hashable,
        fact: Callable[[Node], Any],
        dtype: Any = bool,
        *,
        lasting: bool = False,
    ) -> np.ndarray:
        """One value per node that depends on its facts only, computed once per session.

        A ``lasting`` one is kept for later sessions, in which only nodes that changed are asked
        about again: its key must then mean the same in every session.
        """
        if lasting:
            return self.lasting.ask(key, self.facts, fact, dtype)
        column = self._fact_columns.get(key)
        if column is None:
            column = np.array([fact(node) for node in self.facts], dtype)
            self._fact_columns[key] = column
        return column


def _amounts(resources: Iterable[Resource], dimensions: Dimensions) -> np.ndarray:
    """One row of amounts for each resource; nodes of a kind are many, so each is read once."""
    kinds: dict[Hashable, int] = {}
    vectors: list[np.ndarray] = []
    numbers: list[int] = []
    for resource in resources:
        key = (resource.cpu, resource.memory, *resource.scalars.items())
        number = kinds.get(key)
        if number is None:
            number = kinds[key] = len(vectors)
            vectors.append(dimensions.vector(resource))
        numbers.append(number)
    rows: np.ndarray = np.array(vectors, np.int64).reshape(-1, len(dimensions))[numbers]
    return rows


def _aside(task: Task, number: int) -> str:
    return f"{task.uid}/leaving-{number}"


_LEAVING, _PROMISED, _HOLDING = range(3)
_KIND = tuple(
    _LEAVING
    if status is TaskStatus.RELEASING
    else _PROMISED
    if status is TaskStatus.PIPELINED
    else _HOLDING
    for status in TaskStatus
)


class NodeView:
    """Some rows of the node table, as the vector questions get them. Do not write to columns."""

    __slots__ = ("_rows", "table")

    def __init__(self, table: NodeTable, rows: np.ndarray | None = None) -> None:
        self.table = table
        """The node table."""
        self._rows = rows

    @property
    def rows(self) -> np.ndarray:
        """The row numbers in the table, ascending."""
        return self.table.all_rows if self._rows is None else self._rows

    @property
    def whole(self) -> bool:
        """Whether these are all nodes of the session."""
        return self._rows is None

    def __len__(self) -> int:
        return len(self.table) if self._rows is None else len(self._rows)

    def take(self, column: np.ndarray) -> np.ndarray:
        """The rows of this view out of a column of the whole table."""
        return column if self._rows is None else column[self._rows]

    @property
    def allocatable(self) -> np.ndarray:
        """The resources for pods, a row for each node."""
        return self.take(self.table.allocatable)

    @property
    def idle(self) -> np.ndarray:
        """The resources that no task holds."""
        return self.take(self.table.idle)

    @property
    def used(self) -> np.ndarray:
        """The resources that tasks hold."""
        return self.take(self.table.used)

    @property
    def releasing(self) -> np.ndarray:
        """The resources of tasks that are being evicted."""
        return self.take(self.table.releasing)

    @property
    def pipelined(self) -> np.ndarray:
        """The resources that pipelined tasks wait for."""
        return self.take(self.table.pipelined)

    @property
    def future_idle(self) -> np.ndarray:
        """Idle and releasing resources without those of pipelined tasks."""
        return self.take(self.table.future_idle)

    @property
    def pod_count(self) -> np.ndarray:
        """How many pods each node has."""
        return self.take(self.table.pod_count)

    @property
    def max_pods(self) -> np.ndarray:
        """How many pods each node takes."""
        return self.take(self.table.max_pods)

    def fact(self, key: Hashable, fact: Callable[[Node], Any], dtype: Any = bool) -> np.ndarray:
        """One value per node of the view that depends on the node's facts only; remembered."""
        return self.take(self.table.fact_column(key, fact, dtype))

    @property
    def names(self) -> list[str]:
        """The names of the nodes."""
        return [self.table.names[row] for row in self.rows]

    @property
    def facts(self) -> list[Node]:
        """The nodes as the cluster reports them."""
        return [self.table.facts[row] for row in self.rows]

    def handles(self) -> Iterable[NodeHandle]:
        """The nodes one by one."""
        return map(self.table.handle, self.rows.tolist())


class NodeHandle:
    """One node, for questions asked node by node."""

    __slots__ = ("facts", "name", "row", "table")

    def __init__(self, table: NodeTable, row: int) -> None:
        self.table = table
        """The node table."""
        self.row = row
        """The node's row in the table."""
        self.facts = table.facts[row]
        """The node as the cluster reports it."""
        self.name = self.facts.name
        """The node's name."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.facts.labels

    def _resource(self, column: np.ndarray) -> Resource:
        return self.table.dimensions.resource(column[self.row])

    @property
    def allocatable(self) -> Resource:
        """The resources for pods."""
        return self._resource(self.table.allocatable)

    @property
    def idle(self) -> Resource:
        """The resources that no task holds."""
        return self._resource(self.table.idle)

    @property
    def used(self) -> Resource:
        """The resources that tasks hold."""
        return self._resource(self.table.used)

    @property
    def releasing(self) -> Resource:
        """The resources of tasks that are being evicted."""
        return self._resource(self.table.releasing)

    @property
    def pipelined(self) -> Resource:
        """The resources that pipelined tasks wait for."""
        return self._resource(self.table.pipelined)

    @property
    def future_idle(self) -> Resource:
        """Idle and releasing resources without those of pipelined tasks."""
        return self._resource(self.table.future_idle)

    @property
    def tasks(self) -> list[Task]:
        """The tasks on the node."""
        return [held.task for held in self.table.held[self.row].values()]

    @property
    def idle_fraction(self) -> float:
        """Mean over the resources the node has of the part that is idle."""
        allocatable = self.table.allocatable[self.row]
        has = allocatable > 0
        if not has.any():
            return 0.0
        return float((self.table.idle[self.row][has] / allocatable[has]).mean())

    def __repr__(self) -> str:
        return f"<node {self.name}>"
