"""Remembered answers: what the row-bound questions said for one class of tasks."""

from __future__ import annotations

from math import isnan

import numpy as np

from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.session.voices import Filter, Scorer
from pumice.verdicts import REASONS, NodeVerdicts

_FEW = 12
"""Up to so many changed rows are brought up to date one by one: cheaper than vectors."""
_OUT = -np.inf


class ClassAnswers:
    """Vectors over all nodes for one class of tasks, renewed from the journal of changed rows.

    ``short`` is 1 + the first dimension in which the node's future idle room does not do, or 0;
    ``idle_fits`` tells whether idle room does; ``codes`` and ``reasons`` are the combined verdict
    of the remembered filters, ``scores`` the sum of the remembered scorers; ``ranked`` has the
    score where a task can be placed right now, else minus infinity.
    """

    __slots__ = (
        "asked",
        "codes",
        "filters",
        "idle_fits",
        "nodes",
        "ranked",
        "reasons",
        "request",
        "scalar",
        "scorers",
        "scores",
        "short",
        "snapshot",
        "version",
    )

    def __init__(
        self,
        task: Task,
        nodes: NodeTable,
        filters: list[Filter],
        scorers: list[Scorer],
        *,
        scalar: bool = True,
    ) -> None:
        """``scalar``: a few changed rows are brought up to date one by one."""
        self.nodes = nodes
        self.scalar = scalar
        self.filters = filters
        self.scorers = scorers
        vector: list[int] = task.vector.tolist()
        always = task.compared
        self.asked = [i for i, amount in enumerate(vector) if amount > 0 or i in always]
        self.request = [vector[i] for i in self.asked]
        count = len(nodes)
        self.short = np.zeros(count, np.int8)
        self.idle_fits = np.zeros(count, bool)
        self.codes = np.zeros(count, np.int8)
        self.reasons = np.zeros(count, np.int32)
        self.scores = np.zeros(count, np.float64)
        self.ranked = np.full(count, _OUT)
        self.snapshot: tuple[int, NodeVerdicts] | None = None
        self.version = -1
        self.renew(task)

    def renew(self, task: Task) -> None:
        """Bring everything up to date with the node table."""
        nodes = self.nodes
        version = nodes.version
        if self.version == version:
            return
        rows = None if self.version < 0 else nodes.changed_since(self.version)
        if rows is not None and len(rows) <= _FEW and self.scalar:
            for row in rows:
                self._renew_row(task, row)
        elif rows is not None and len(rows) < len(nodes) // 2:
            self._renew_rows(task, np.array(rows))
        else:
            self._renew_rows(task, None)
        self.version = version

    def _renew_row(self, task: Task, row: int) -> None:
        nodes = self.nodes
        future = nodes.future_idle[row].tolist()
        idle = nodes.idle[row].tolist()
        short, idle_fits = 0, True
        for dimension, amount in zip(self.asked, self.request, strict=True):
            if amount > future[dimension]:
                short = dimension + 1
                break
        for dimension, amount in zip(self.asked, self.request, strict=True):
            if amount > idle[dimension]:
                idle_fits = False
                break
        self.short[row] = short
        self.idle_fits[row] = idle_fits
        code = reason = 0
        for voice in self.filters:
            error = voice.one(task, nodes, row)
            if error is not None and error.code:
                code, reason = error.code, REASONS.id(error)
                break
        self.codes[row] = code
        self.reasons[row] = reason
        score = 0.0
        for scorer in self.scorers:
            score += scorer.one(task, nodes, row)
        self.scores[row] = score
        free = idle_fits and not (code or short or isnan(score))
        self.ranked[row] = score if free else _OUT

    def _renew_rows(self, task: Task, rows: np.ndarray | None) -> None:
        nodes = self.nodes
        where = slice(None) if rows is None else rows
        count = len(nodes) if rows is None else len(rows)
        request = np.array(self.request, np.int64)
        missing = request > nodes.future_idle[where][:, self.asked]
        self.short[where] = np.where(
            missing.any(axis=1), np.array(self.asked, np.int8)[missing.argmax(axis=1)] + 1, 0
        )
        self.idle_fits[where] = (request <= nodes.idle[where][:, self.asked]).all(axis=1)
        combined = NodeVerdicts.accept(count)
        for voice in self.filters:
            verdicts = voice.many(task, nodes, rows)
            if verdicts is not None:
                merge(combined, verdicts)
        self.codes[where] = combined.codes
        self.reasons[where] = combined.reasons
        total = np.zeros(count)
        for scorer in self.scorers:
            scores = scorer.many(task, nodes, rows)
            if scores is not None:
                total += scores
        self.scores[where] = total
        free = self.idle_fits[where] & (self.codes[where] == 0) & (self.short[where] == 0)
        self.ranked[where] = np.where(free & ~np.isnan(total), total, _OUT)


def merge(into: NodeVerdicts, verdicts: NodeVerdicts) -> None:
    """Let a later plugin's objections count where no earlier one objected."""
    fresh = (into.codes == 0) & (verdicts.codes != 0)
    if fresh.any():
        into.codes[fresh] = verdicts.codes[fresh]
        into.reasons[fresh] = verdicts.reasons[fresh]
