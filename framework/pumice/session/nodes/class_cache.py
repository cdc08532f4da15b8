"""Remembered answers: what the questions about nodes said for one class of tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isnan

import numpy as np

from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.plugin import Scope
from pumice.session.nodes.voters import FilterVoter, ScoreVoter
from pumice.verdicts import REASONS, NodeVerdicts

_FEW = 12
"""Up to so many changed rows are brought up to date one by one: cheaper than vectors."""
_OUT = -np.inf
_UNASKED = object()


class ClassCache:
    """Vectors over all nodes for one class of tasks, renewed from the journal of changed rows.

    ``short`` is 1 + the first dimension in which the node's future idle room does not do, or 0;
    ``idle_fits`` tells whether idle room does; ``codes`` and ``reasons`` are the combined verdict
    of the remembered filters.

    ``scores`` is the sum of the remembered scorers that look at the row alone, ``totals`` also of
    those that look at the span of all nodes. The rest is minus infinity where a task cannot be
    placed: ``ranked`` is ``scores`` where it can right now, ``open`` and ``later`` are ``scores``
    and ``totals`` where it can once promises are kept. ``totals`` and ``later`` are renewed by
    :meth:`renew_totals` only: who asks about some nodes compares those among themselves.
    """

    __slots__ = (
        "asked",
        "codes",
        "filters",
        "future_scores",
        "future_totals",
        "idle_fits",
        "idle_scores",
        "missing_dimension",
        "nodes",
        "reasons",
        "request",
        "scalar",
        "scorers",
        "scores",
        "snapshot",
        "spanned",
        "spanning",
        "spans",
        "totals",
        "version",
    )

    def __init__(
        self,
        task: Task,
        nodes: NodeTable,
        filters: Sequence[tuple[FilterVoter, Scope]],
        scorers: Sequence[tuple[ScoreVoter, Scope]],
        *,
        scalar: bool = True,
    ) -> None:
        """``scalar``: a few changed rows are brought up to date one by one."""
        self.nodes = nodes
        self.scalar = scalar
        self.filters = _fixed_filters(task, nodes, filters)
        self.scorers = _fixed_scorers(task, nodes, scorers)
        self.spanning = [voter for voter, scope in scorers if scope == "span"]
        self.spans: list[Hashable] = [_UNASKED] * len(self.spanning)
        vector: list[int] = task.vector.tolist()
        always = task.compared
        self.asked = [i for i, amount in enumerate(vector) if amount > 0 or i in always]
        self.request = [vector[i] for i in self.asked]
        count = len(nodes)
        self.missing_dimension = np.zeros(count, np.int8)
        self.idle_fits = np.zeros(count, bool)
        self.codes = np.zeros(count, np.int8)
        self.reasons = np.zeros(count, np.int32)
        self.scores = np.zeros(count, np.float64)
        self.idle_scores = np.full(count, _OUT)
        self.future_scores = np.full(count, _OUT)
        self.totals, self.future_totals = self.scores, self.future_scores
        if self.spanning:
            self.totals, self.future_totals = np.zeros(count, np.float64), np.full(count, _OUT)
        self.snapshot: tuple[int, NodeVerdicts] | None = None
        self.version = -1
        self.spanned = -1
        """The version of ``totals`` and ``later``."""
        self.renew(task)

    def renew(self, task: Task) -> None:
        """Bring everything but the totals up to date with the node table."""
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

    def renew_totals(self, task: Task) -> None:
        """Bring ``totals`` and ``later`` up to date with the rest."""
        if not self.spanning or self.spanned == self.version:
            return
        rows = None if self.spanned < 0 else self.nodes.changed_since(self.spanned)
        self.spanned = self.version
        spans_hold = self._spans_hold(task)
        if spans_hold and rows is not None and len(rows) <= _FEW and self.scalar:
            for row in rows:
                score = self.scores.item(row)
                for scorer in self.spanning:
                    score += scorer.one(task, self.nodes, row)
                self.totals[row] = score
                self.future_totals[row] = (
                    _OUT if self.future_scores.item(row) == _OUT or isnan(score) else score
                )
            return
        total = self.scores.copy()
        for scorer in self.spanning:
            scores = scorer.many(task, self.nodes, None)
            if scores is not None:
                total += scores
        self.totals[:] = total
        self.future_totals[:] = np.where(
            (self.future_scores == _OUT) | np.isnan(total), _OUT, total
        )

    def _spans_hold(self, task: Task) -> bool:
        """Whether all nodes compare with what they compared with before."""
        before = self.spans
        self.spans = [voter.span(task) for voter in self.spanning]
        return self.spans == before

    def _renew_row(self, task: Task, row: int) -> None:
        nodes = self.nodes
        future = nodes.future_idle[row].tolist()
        idle = nodes.idle[row].tolist()
        missing_dimension, idle_fits = 0, True
        for dimension, amount in zip(self.asked, self.request, strict=True):
            if amount > future[dimension]:
                missing_dimension = dimension + 1
                break
        for dimension, amount in zip(self.asked, self.request, strict=True):
            if amount > idle[dimension]:
                idle_fits = False
                break
        self.missing_dimension[row] = missing_dimension
        self.idle_fits[row] = idle_fits
        code = reason = 0
        for voter in self.filters:
            if isinstance(voter, FilterVoter):
                error = voter.one(task, nodes, row)
                if error is not None and error.code:
                    code, reason = error.code, REASONS.id(error)
                    break
            elif voter.codes[row]:
                code, reason = voter.codes[row], voter.reasons[row]
                break
        self.codes[row] = code
        self.reasons[row] = reason
        score = 0.0
        for scorer in self.scorers:
            if isinstance(scorer, ScoreVoter):
                score += scorer.one(task, nodes, row)
            else:
                score += scorer.item(row)
        self.scores[row] = score
        passes = not (code or missing_dimension or isnan(score))
        self.future_scores[row] = score if passes else _OUT
        self.idle_scores[row] = score if passes and idle_fits else _OUT

    def _renew_rows(self, task: Task, rows: np.ndarray | None) -> None:
        nodes = self.nodes
        where = slice(None) if rows is None else rows
        count = len(nodes) if rows is None else len(rows)
        request = np.array(self.request, np.int64)
        missing = request > nodes.future_idle[where][:, self.asked]
        self.missing_dimension[where] = np.where(
            missing.any(axis=1), np.array(self.asked, np.int8)[missing.argmax(axis=1)] + 1, 0
        )
        self.idle_fits[where] = (request <= nodes.idle[where][:, self.asked]).all(axis=1)
        combined = NodeVerdicts.accept(count)
        for voter in self.filters:
            if isinstance(voter, FilterVoter):
                verdicts = voter.many(task, nodes, rows)
                if verdicts is not None:
                    merge(combined, verdicts)
            else:
                merge(combined, NodeVerdicts(voter.codes[where], voter.reasons[where]))
        self.codes[where] = combined.codes
        self.reasons[where] = combined.reasons
        total = np.zeros(count)
        for scorer in self.scorers:
            if isinstance(scorer, ScoreVoter):
                scores = scorer.many(task, nodes, rows)
                if scores is not None:
                    total += scores
            else:
                total += scorer[where]
        self.scores[where] = total
        passes = (combined.codes == 0) & (self.missing_dimension[where] == 0) & ~np.isnan(total)
        self.future_scores[where] = np.where(passes, total, _OUT)
        self.idle_scores[where] = np.where(passes & self.idle_fits[where], total, _OUT)


def merge(into: NodeVerdicts, verdicts: NodeVerdicts) -> None:
    """Let a later plugin's objections count where no earlier one objected."""
    fresh = (into.codes == 0) & (verdicts.codes != 0)
    if fresh.any():
        into.codes[fresh] = verdicts.codes[fresh]
        into.reasons[fresh] = verdicts.reasons[fresh]


def _fixed_filters(
    task: Task, nodes: NodeTable, filters: Sequence[tuple[FilterVoter, Scope]]
) -> list[FilterVoter | NodeVerdicts]:
    """The filters in order; a static one is asked now and never again."""
    found: list[FilterVoter | NodeVerdicts] = []
    for voter, scope in filters:
        if scope != "static":
            found.append(voter)
            continue
        verdicts = voter.many(task, nodes, None)
        if verdicts is not None and verdicts.codes.any():
            found.append(verdicts)
    return found


def _fixed_scorers(
    task: Task, nodes: NodeTable, scorers: Sequence[tuple[ScoreVoter, Scope]]
) -> list[ScoreVoter | np.ndarray]:
    """The scorers that look at the row alone; a static one is asked now and never again."""
    found: list[ScoreVoter | np.ndarray] = []
    for voter, scope in scorers:
        if scope == "row":
            found.append(voter)
        elif scope == "static":
            scores = voter.many(task, nodes, None)
            if scores is not None and scores.any():
                found.append(scores)
    return found
