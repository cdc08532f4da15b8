"""Domains of a topology: a tree of node label values, with the free resources of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pumice import NodeTable, Task
from pumice.gpu import GPU

_NOTHING_FREE = 1000.0
"""KAI's ratio for a resource of which nothing is free."""


class Domain:
    """The nodes that share the label values from the coarsest level down to this one."""

    __slots__ = ("children", "depth", "free", "id", "pods", "ratio", "rows")

    def __init__(self, id: str, depth: int) -> None:
        self.id = id
        self.depth = depth
        """0 is the root, 1 the coarsest level."""
        self.rows: list[int] = []
        self.children: dict[str, Domain] = {}
        self.free: np.ndarray = np.zeros(0, np.int64)
        self.pods = -1
        """How many tasks like the largest one fit; -1 where the tasks differ too much to count."""
        self.ratio = 0.0
        """Requested by free amount, of the resource where it is largest."""

    def subtree(self) -> Iterator[Domain]:
        """This domain and all below it, in the order of the children."""
        yield self
        for child in self.children.values():
            yield from child.subtree()

    def fits(self, count: int) -> bool:
        return self.pods >= count if self.pods >= 0 else self.ratio <= 1


class Topology:
    """One Topology object over the nodes of a session."""

    def __init__(self, raw: Mapping[str, Any], nodes: NodeTable) -> None:
        self.levels: list[str] = [level["nodeLabel"] for level in raw["spec"].get("levels", ())]
        self.root = Domain("root", 0)
        self.path_of: dict[int, list[Domain]] = {}
        """Per row of a node inside the topology: its domains from the root down."""
        for row, node in enumerate(nodes.facts):
            values = [node.labels.get(level) for level in self.levels]
            if None in values or not values:
                continue
            path = [self.root]
            for depth in range(1, len(values) + 1):
                id = ".".join(str(value) for value in values[:depth])
                path.append(path[-1].children.setdefault(id, Domain(id, depth)))
            for domain in path:
                domain.rows.append(row)
            self.path_of[row] = path

    def depth(self, level: str) -> int:
        """Depth of a level by its label; raises ValueError for one that the topology lacks."""
        return self.levels.index(level) + 1

    def common(self, rows: Iterable[int], deepest: int) -> Domain:
        """The deepest domain that holds all these rows, not below ``deepest``."""
        paths = [self.path_of[row] for row in rows]
        common = self.root
        for depth in range(1, deepest + 1):
            ids = {path[depth].id for path in paths}
            if len(ids) != 1:
                break
            common = paths[0][depth]
        return common


class GroupRequest:
    """The request of a set of tasks: of all together, and of the largest one."""

    def __init__(self, nodes: NodeTable, tasks: Sequence[Task]) -> None:
        self._gpu = nodes.dimensions.position.get(GPU)
        self._pods = nodes.dimensions.position["pods"]
        self.count = len(tasks)
        vectors = np.array([self._vector(task) for task in tasks])
        self.total = vectors.sum(axis=0)
        self.largest = vectors.max(axis=0)
        asked = vectors > 0
        # KAI counts tasks only if each resource beside cpu and memory is requested by all or none.
        scalars = asked[:, 2:]
        self.alike = bool((scalars.all(axis=0) | ~scalars.any(axis=0)).all())
        portions = {task.gpu.portion for task in tasks if task.gpu.portion}
        self.mixed_portions = self.alike and len(portions) > 1

    def _vector(self, task: Task) -> np.ndarray:
        vector = task.vector.copy()
        if self._gpu is not None and task.gpu.any:
            vector[self._gpu] = task.gpu.milli + task.gpu.claimed * 1000
        return vector

    def copies(self, free: np.ndarray) -> np.ndarray:
        """Per node, how many tasks like the largest fit into the future idle amounts."""
        asked = np.flatnonzero(self.largest > 0)
        if set(asked.tolist()) <= {self._pods}:
            return np.full(len(free), self.count)
        fits: np.ndarray = np.floor_divide(free[:, asked], self.largest[asked]).min(axis=1)
        return fits.clip(0)

    def ratio(self, free: np.ndarray) -> float:
        """The largest ratio of requested to free amount over all resources."""
        worst = 0.0
        for position, (asked, available) in enumerate(
            zip(self.total.tolist(), free.tolist(), strict=True)
        ):
            if not asked or position == self._pods:
                continue
            if available > 0:
                worst = max(worst, asked / available)
            else:
                worst = max(worst, math.inf if position == self._gpu else _NOTHING_FREE)
        return worst


def measure(domain: Domain, nodes: NodeTable, request: GroupRequest) -> None:
    """Compute what fits into a domain and each one below, and sort children tightest first."""
    free = nodes.future_idle[domain.rows]
    domain.free = free.sum(axis=0)
    domain.ratio = request.ratio(domain.free)
    domain.pods = int(request.copies(free).sum()) if request.alike else -1
    for child in domain.children.values():
        measure(child, nodes, request)
    ordered = sorted(domain.children.values(), key=lambda child: (-child.ratio, child.id))
    domain.children = {child.id: child for child in ordered}
