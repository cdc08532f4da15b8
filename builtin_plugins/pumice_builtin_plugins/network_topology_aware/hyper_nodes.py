"""Resources and tasks of hypernodes: sums over the nodes below each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pumice import MIN_RESOURCE, PLACED_STATUSES, Resource, Session, SubJob, Task


class HyperNodeResources:
    """One row for each hypernode, the virtual root included, in the order of their names.

    As in Volcano only ``used`` is updated during a cycle; idle amounts stay as they were.
    """

    def __init__(self, session: Session, weights: Mapping[str, int]) -> None:
        nodes, self._position = session.nodes, session.nodes.dimensions.position
        self.names = sorted(session.hyper_nodes.tier)
        self.index = {name: index for index, name in enumerate(self.names)}
        self.members = np.zeros((len(self.names), len(nodes)), bool)
        """Whether a hypernode (row) contains a node (column)."""
        for index, name in enumerate(self.names):
            rows = session.rows_of(name)
            self.members[index, slice(None) if rows is None else rows] = True
        self._above = [np.flatnonzero(column) for column in self.members.T]
        self.allocatable = self._sums(nodes.allocatable)
        self.used = self._sums(nodes.used)
        self._idle = self._sums(nodes.idle)
        self._future_idle = self._sums(nodes.future_idle)
        self._row_of = nodes.row_of
        self._weight_of = [
            (self._position[name], weight)
            for name, weight in weights.items()
            if weight and name in self._position
        ]

    def _sums(self, column: np.ndarray) -> np.ndarray:
        return np.array([column[inside].sum(axis=0) for inside in self.members], np.int64)

    def count(self, task: Task, sign: int) -> None:
        """Add a task's request to every hypernode above its node (1), or subtract it (-1)."""
        row = self._row_of.get(task.node)
        if row is not None:
            self.used[self._above[row]] += sign * task.vector

    def needed(self, resource: Resource) -> dict[int, float]:
        """The amounts to compare, by dimension; cpu and memory always."""
        return {
            self._position.get(name, -1): value
            for name, value in resource.items()
            if value >= MIN_RESOURCE or name in ("cpu", "memory")
        }

    def fits_idle(self, hyper_node: str, needed: Mapping[int, float]) -> bool:
        """Whether the amounts fit into idle or future idle, as of the cycle's beginning."""
        index = self.index[hyper_node]
        return _fits(self._idle[index], needed) or _fits(self._future_idle[index], needed)

    def fits_allocatable(self, hyper_node: str, needed: Mapping[int, float]) -> bool:
        """Whether the amounts would fit if nothing ran there."""
        return _fits(self.allocatable[self.index[hyper_node]], needed)

    def binpack(self, request: np.ndarray) -> np.ndarray:
        """How full each hypernode would be with the request, 0 to 1; 0 if it does not fit."""
        score = np.zeros(len(self.names))
        overfull = np.zeros(len(self.names), bool)
        total = 0
        for dimension, weight in self._weight_of:
            amount = int(request[dimension])
            if amount <= 0:
                continue
            total += weight
            size, used = self.allocatable[:, dimension], self.used[:, dimension] + amount
            overfull |= used > size
            score += np.divide(used * weight, size, out=np.zeros(len(size)), where=size > 0)
        return np.where(overfull, 0.0, score / total) if total else score


def _fits(available: np.ndarray, needed: Mapping[int, float]) -> bool:
    # With Volcano's tolerance for rounding.
    return all(
        position >= 0 and amount < available[position] + MIN_RESOURCE
        for position, amount in needed.items()
    )


class SubJobTasks:
    """How many tasks of a sub-job each node has; an evicted task counts until it is gone."""

    def __init__(self, row_of: Mapping[str, int], *, cached: bool = True) -> None:
        """``cached``: counts are updated by events, else computed when asked for."""
        self._row_of = row_of
        self._cached = cached
        self._counts: dict[str, np.ndarray] = {}
        self._placed: dict[str, int] = {}

    def by_node(self, sub_job: SubJob) -> np.ndarray:
        """By row. Counted on first use, as few sub-jobs are ever asked about."""
        counts = self._counts.get(sub_job.uid)
        if counts is None or not self._cached:
            counts = self._counts[sub_job.uid] = np.zeros(len(self._row_of), np.int64)
            for task in sub_job.tasks.values():
                if task.node in self._row_of:
                    counts[self._row_of[task.node]] += 1
        return counts

    def add(self, task: Task) -> None:
        """The task has been placed; an undone eviction is ignored, as the task still counts."""
        if task.status in PLACED_STATUSES:
            self._placed[task.uid] = self._row_of[task.node]
            self._update(task, 1)

    def remove(self, task: Task) -> None:
        """A placement of this cycle has been undone."""
        if task.uid in self._placed:
            self._update(task, -1)
            del self._placed[task.uid]

    def _update(self, task: Task, sign: int) -> None:
        counts = self._counts.get(task.sub_job.uid) if task.sub_job is not None else None
        if counts is not None:
            counts[self._placed[task.uid]] += sign


def break_ties(scores: np.ndarray, placed: np.ndarray, count: int) -> np.ndarray:
    """Where several have the highest score, add the fraction of ``count`` tasks placed there."""
    best = scores == scores.max()
    if not count or best.sum() < 2:
        return scores
    return np.where(best, scores + placed / count, scores)
