"""What hypernodes have and hold: sums over the nodes below each, and how full that makes them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pumice import MIN_RESOURCE, Resource, Session, SubJob, Task, TaskStatus


class HyperLoad:
    """One row for each hypernode, the virtual root included, in the order of their names.

    Room is as the cycle found it; only ``used`` follows what happens.
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
        """Add what a task uses to every hypernode above its node, or take it away."""
        row = self._row_of.get(task.node)
        if row is not None:
            self.used[self._above[row]] += sign * task.vector

    # -- room

    def needed(self, resource: Resource) -> dict[int, float]:
        """An amount by dimension; cpu and memory are always looked at."""
        return {
            self._position.get(name, -1): value
            for name, value in resource.items()
            if value >= MIN_RESOURCE or name in ("cpu", "memory")
        }

    def has_idle(self, hyper_node: str, needed: Mapping[int, float]) -> bool:
        """Whether there was room when the cycle began, or would be after what is leaving."""
        index = self.index[hyper_node]
        return _holds(self._idle[index], needed) or _holds(self._future_idle[index], needed)

    def could_hold(self, hyper_node: str, needed: Mapping[int, float]) -> bool:
        """Whether there would be room if nothing ran there."""
        return _holds(self.allocatable[self.index[hyper_node]], needed)

    # -- fullness

    def fullness(self, request: np.ndarray) -> np.ndarray:
        """How full each hypernode would be with the request, from 0 to 1; 0 if it were overfull."""
        score = np.zeros(len(self.names))
        overfull = np.zeros(len(self.names), bool)
        total = 0
        for dimension, weight in self._weight_of:
            amount = int(request[dimension])
            if amount <= 0:
                continue
            total += weight
            room, held = self.allocatable[:, dimension], self.used[:, dimension] + amount
            overfull |= held > room
            score += np.divide(held * weight, room, out=np.zeros(len(room)), where=room > 0)
        return np.where(overfull, 0.0, score / total) if total else score


def _holds(room: np.ndarray, needed: Mapping[int, float]) -> bool:
    return all(
        position >= 0 and amount < room[position] + MIN_RESOURCE
        for position, amount in needed.items()
    )


class Whereabouts:
    """How many tasks of a sub-job each node has; an evicted task counts until it is gone."""

    def __init__(self, row_of: Mapping[str, int], *, remembers: bool = True) -> None:
        """``remembers``: counts are kept; without, all tasks are counted for every question."""
        self._row_of = row_of
        self._remembers = remembers
        self._counts: dict[str, np.ndarray] = {}
        self._placed: dict[str, int] = {}

    def of(self, sub_job: SubJob) -> np.ndarray:
        """By row. Counted on first use, for few sub-jobs are ever asked about."""
        counts = self._counts.get(sub_job.uid)
        if counts is None or not self._remembers:
            counts = self._counts[sub_job.uid] = np.zeros(len(self._row_of), np.int64)
            for task in sub_job.tasks.values():
                if task.node in self._row_of:
                    counts[self._row_of[task.node]] += 1
        return counts

    def placed(self, task: Task) -> None:
        if task.status in (TaskStatus.ALLOCATED, TaskStatus.PIPELINED):
            self._placed[task.uid] = self._row_of[task.node]
            self._add(task, 1)

    def taken_back(self, task: Task) -> None:
        if task.uid in self._placed:
            self._add(task, -1)
            del self._placed[task.uid]

    def _add(self, task: Task, sign: int) -> None:
        counts = self._counts.get(task.sub_job.uid) if task.sub_job is not None else None
        if counts is not None:
            counts[self._placed[task.uid]] += sign


def break_ties(scores: np.ndarray, held: np.ndarray, count: int) -> np.ndarray:
    """Where several have the highest score, add the part of ``count`` tasks that each holds."""
    best = scores == scores.max()
    if not count or best.sum() < 2:
        return scores
    return np.where(best, scores + held / count, scores)
