"""The columns of the node table: what nodes have and what is free, as integers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any

import numpy as np

from pumice.model.dimensions import Dimensions
from pumice.model.facts import Node
from pumice.model.incremental.column_cache import ColumnCache
from pumice.model.nodes.journal import RowJournal
from pumice.model.resources import Resource


class NodeColumns(RowJournal):
    """One row per node, in the order of their names."""

    def __init__(self, nodes: Iterable[Node], dimensions: Dimensions) -> None:
        super().__init__()
        self.dimensions = dimensions
        """The resources, in the order of the columns."""
        self.facts: list[Node] = sorted(nodes, key=lambda node: node.name)
        """The nodes as the cluster reports them, by row."""
        self.names: list[str] = [node.name for node in self.facts]
        """The names of the nodes, by row."""
        self.row_of: dict[str, int] = {name: row for row, name in enumerate(self.names)}
        """Name of a node → row."""
        shape = (len(self.facts), len(dimensions))
        self.allocatable = resource_rows((node.allocatable for node in self.facts), dimensions)
        """The resources for pods, a row for each node."""
        self.capacity = resource_rows((node.capacity for node in self.facts), dimensions)
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
        """idle + releasing - pipelined: what is free once releasing tasks are gone."""
        self.max_pods = np.array([node.max_pods for node in self.facts], np.int64)
        """How many pods each node takes."""
        self.pod_count = np.zeros(shape[0], np.int64)
        """How many pods each node has."""
        self.claimable = np.zeros(shape[0], np.int64)
        """Per row: GPUs that are available through resource claims only."""
        self.all_rows = np.arange(shape[0])
        """All row numbers, ascending."""
        self._fact_columns: dict[Hashable, np.ndarray] = {}
        self.lasting = ColumnCache()
        """Fact columns that are cached from cycle to cycle."""

    def __len__(self) -> int:
        return len(self.facts)

    def _move_columns(self, nodes: list[Node], source: np.ndarray) -> None:
        """Let the rows be those of ``nodes``; ``source`` has the old row of each, -1: new."""
        self.facts = nodes
        self.names = [node.name for node in nodes]
        self.row_of = {name: row for row, name in enumerate(self.names)}
        self.all_rows = np.arange(len(nodes))
        self.allocatable = moved_rows(self.allocatable, source)
        self.capacity = moved_rows(self.capacity, source)
        self.idle = moved_rows(self.idle, source)
        self.used = moved_rows(self.used, source)
        self.releasing = moved_rows(self.releasing, source)
        self.pipelined = moved_rows(self.pipelined, source)
        self.future_idle = moved_rows(self.future_idle, source)
        self.max_pods = moved_rows(self.max_pods, source)
        self.pod_count = moved_rows(self.pod_count, source)
        self.claimable = moved_rows(self.claimable, source)
        self.lasting.move(source.tolist())

    def fact_column(
        self,
        key: Hashable,
        fact: Callable[[Node], Any],
        dtype: Any = bool,
        *,
        lasting: bool = False,
    ) -> np.ndarray:
        """One value per node that depends on its facts only, computed once per session.

        A ``lasting`` one is cached for later sessions, which recompute it for changed nodes
        only: its key must then mean the same in every session.
        """
        if lasting:
            return self.lasting.ask(key, self.facts, fact, dtype)
        column = self._fact_columns.get(key)
        if column is None:
            column = np.array([fact(node) for node in self.facts], dtype)
            self._fact_columns[key] = column
        return column


def moved_rows(column: np.ndarray, source: np.ndarray) -> np.ndarray:
    """The column whose rows are the given rows of the old one; -1: a row of zeros."""
    if not len(column):
        return np.zeros((len(source), *column.shape[1:]), column.dtype)
    moved: np.ndarray = column[np.maximum(source, 0)]
    moved[source < 0] = 0
    return moved


def resource_rows(resources: Iterable[Resource], dimensions: Dimensions) -> np.ndarray:
    """One row of amounts per resource; equal resources, which are many, are converted once."""
    number_of: dict[Hashable, int] = {}
    vectors: list[np.ndarray] = []
    numbers: list[int] = []
    for resource in resources:
        key = (resource.cpu, resource.memory, *resource.scalars.items())
        number = number_of.get(key)
        if number is None:
            number = number_of[key] = len(vectors)
            vectors.append(dimensions.vector(resource))
        numbers.append(number)
    rows: np.ndarray = np.array(vectors, np.int64).reshape(-1, len(dimensions))[numbers]
    return rows
