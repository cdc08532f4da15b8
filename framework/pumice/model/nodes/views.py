"""Views of the node table: some of its rows, or a single node."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pumice.model.facts import Node
from pumice.model.resources import Resource
from pumice.model.task import Task

if TYPE_CHECKING:
    from pumice.model.nodes.table import NodeTable


class NodeView:
    """Some rows of the node table, as vector forms of extension points get them; read only."""

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
        """One value per node of the view that depends on the node's facts only; cached."""
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
    """One node, as scalar forms of extension points get it."""

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
