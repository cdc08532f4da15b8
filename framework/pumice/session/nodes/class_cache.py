"""What the filters and scorers answered about all nodes for one class of tasks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import isnan

import numpy as np

from pumice.fit_errors import FitErrors
from pumice.model.cursors import FEW_ROWS, RowCursor
from pumice.model.fitting import RequestFit
from pumice.model.nodes import NodeTable
from pumice.model.task import Task
from pumice.plugin import Scope
from pumice.session.nodes.best_rows import BestRow
from pumice.session.nodes.voters import FilterVoter, ScoreVoter
from pumice.verdicts import REASONS, NodeVerdicts

_OUT = -np.inf
_NEVER_ASKED = object()


class ClassCache:
    """Vectors over all nodes for one class of tasks, refreshed from the journal of changed rows.

    ``missing_dimension`` is 1 + the first dimension of which the node's future idle is too small
    for the request, or 0; ``idle_fits`` is whether the request fits into idle; ``codes`` and
    ``reasons`` are the combined verdict of the cached filters.

    ``scores`` is the sum of the scorers of scope ``static`` and ``row``; ``totals`` adds those of
    scope ``span``. The other vectors are minus infinity where the task cannot be placed:
    ``idle_scores`` is ``scores`` where it fits into idle, ``future_scores`` and ``future_totals``
    are ``scores`` and ``totals`` where it fits into future idle. Scores are refreshed by
    :meth:`refresh_scores`, because nobody reads them while no node fits, ``totals`` and
    ``future_totals`` by :meth:`refresh_totals`, because a query about some of the nodes compares
    those with each other.
    """

    __slots__ = (
        "_declared_scorers",
        "best_future",
        "best_idle",
        "codes",
        "cursor",
        "filters",
        "fit",
        "fit_errors",
        "future_scores",
        "future_totals",
        "idle_fits",
        "idle_scores",
        "missing_dimension",
        "no_node_version",
        "nodes",
        "nowhere_version",
        "one_by_one",
        "reasons",
        "rejected",
        "resolvable",
        "scorers",
        "scores",
        "scores_cursor",
        "span_scorers",
        "spans",
        "totals",
        "totals_cursor",
    )

    def __init__(
        self,
        task: Task,
        nodes: NodeTable,
        filters: Sequence[tuple[FilterVoter, Scope]],
        scorers: Sequence[tuple[ScoreVoter, Scope]],
        *,
        rejected: np.ndarray | None = None,
        one_by_one: bool = True,
    ) -> None:
        """``rejected``: mask of the nodes that some filter rejects for the whole cycle.

        ``one_by_one``: a few changed rows are refreshed by the scalar forms.
        """
        self.rejected = rejected
        self.nodes = nodes
        self.one_by_one = one_by_one
        self.filters = _static_filters(task, nodes, filters)
        self._declared_scorers = scorers
        self.scorers: list[ScoreVoter | np.ndarray] | None = None
        """Read when a score is first asked for: often no node fits, and none is."""
        self.span_scorers = [voter for voter, scope in scorers if scope == "span"]
        self.spans: list[Hashable] = [_NEVER_ASKED] * len(self.span_scorers)
        self.fit = RequestFit(task.vector, task.compared)
        count = len(nodes)
        self.missing_dimension = np.zeros(count, np.int8)
        self.idle_fits = np.zeros(count, bool)
        self.codes = np.zeros(count, np.int8)
        self.reasons = np.zeros(count, np.int32)
        self.scores = np.zeros(count, np.float64)
        self.idle_scores = np.full(count, _OUT)
        self.future_scores = np.full(count, _OUT)
        self.totals, self.future_totals = self.scores, self.future_scores
        if self.span_scorers:
            self.totals, self.future_totals = np.zeros(count, np.float64), np.full(count, _OUT)
        self.best_idle = BestRow(self.idle_scores)
        """The best row of ``idle_scores``."""
        self.best_future = BestRow(self.future_totals)
        """The best row of ``future_totals``."""
        self.resolvable: np.ndarray | None = None
        """Mask: the nodes whose codes an eviction may resolve; None: to be made of the codes."""
        self.fit_errors: tuple[int, FitErrors] | None = None
        """Why no node takes a task of the class, and the version of the nodes it holds for."""
        self.no_node_version = -1
        """The version of the nodes for which no node fits a task of the class."""
        self.nowhere_version = -1
        """The version for which no node has room now or will have it, whatever it is scored."""
        self.cursor = RowCursor(nodes)
        self.scores_cursor = RowCursor(nodes)
        self.totals_cursor = RowCursor(nodes)
        self.refresh(task)

    def refresh(self, task: Task) -> None:
        """Bring everything but scores and totals up to date with the node table."""
        nodes, cursor = self.nodes, self.cursor
        if cursor.version == nodes.version:
            return
        rows = cursor.changed()
        try:
            if rows is not None and len(rows) <= FEW_ROWS and self.one_by_one:
                for row in rows:
                    self._refresh_row(task, row)
            elif rows is not None and len(rows) < len(nodes) // 2:
                self._refresh_rows(task, np.array(rows))
            else:
                self._refresh_rows(task, None)
        except BaseException:
            cursor.version = -1  # a plugin raised half-way: refresh all rows next time
            raise

    @property
    def fits_somewhere(self) -> bool:
        """Whether some node accepts the task and has enough future idle."""
        return bool(np.count_nonzero((self.missing_dimension == 0) & (self.codes == 0)))

    def refresh_scores(self, task: Task) -> None:
        """Bring the scores, but not the totals, up to date with the node table."""
        nodes, cursor = self.nodes, self.scores_cursor
        if cursor.version == nodes.version:
            return
        if self.scorers is None:
            self.scorers = _static_scorers(task, nodes, self._declared_scorers)
        rows = cursor.changed()
        try:
            if rows is not None and len(rows) <= FEW_ROWS and self.one_by_one:
                for row in rows:
                    self._refresh_score(task, row)
            elif rows is not None and len(rows) < len(nodes) // 2:
                self._refresh_many_scores(task, np.array(rows))
            else:
                self._refresh_many_scores(task, None)
        except Exception:
            cursor.version = -1
            raise

    def refresh_with_scores(self, task: Task) -> None:
        """As :meth:`refresh`; scores, too, if they were up to date before the last change."""
        nodes, cursor, scored = self.nodes, self.cursor, self.scores_cursor
        version = cursor.version
        row = nodes.only_change_since(version) if version == scored.version else -1
        if row < 0 or not self.one_by_one:
            self.refresh(task)
            return
        cursor.version = scored.version = -1  # until no plugin has raised
        self._refresh_row(task, row)
        self._refresh_score(task, row)
        cursor.version = scored.version = nodes.version

    def refresh_totals(self, task: Task) -> None:
        """Bring all scores, ``totals`` and ``future_totals`` included, up to date."""
        self.refresh_scores(task)
        nodes, cursor = self.nodes, self.totals_cursor
        if not self.span_scorers or cursor.version == nodes.version:
            return
        rows = cursor.changed()
        try:
            same_spans = self._spans_hold(task)
            if same_spans and rows is not None and len(rows) <= FEW_ROWS and self.one_by_one:
                for row in rows:
                    self._refresh_total(task, row)
            else:
                self._refresh_all_totals(task)
        except BaseException:
            cursor.version = -1
            raise

    def _refresh_total(self, task: Task, row: int) -> None:
        score, node = self.scores.item(row), self.nodes.handle(row)
        for scorer in self.span_scorers:
            score += scorer.one(task, node)
        self.totals[row] = score
        out = self.future_scores.item(row) == _OUT or isnan(score)
        self.best_future.set(row, _OUT if out else score)

    def _refresh_all_totals(self, task: Task) -> None:
        total = self.scores.copy()
        for scorer in self.span_scorers:
            scores = scorer.many(task, self.nodes, None)
            if scores is not None:
                total += scores
        self.totals[:] = total
        out = (self.future_scores == _OUT) | np.isnan(total)
        self.future_totals[:] = np.where(out, _OUT, total)
        self.best_future.forget()

    def _spans_hold(self, task: Task) -> bool:
        """Whether the spans that the scorers compare nodes with are the same as before."""
        before = self.spans
        self.spans = [voter.span(task) for voter in self.span_scorers]
        return self.spans == before

    def _refresh_row(self, task: Task, row: int) -> None:
        nodes, fit = self.nodes, self.fit
        missing_dimension = fit.missing(nodes.future_idle[row].tolist())
        idle_fits = fit.fits(nodes.idle[row].tolist())
        self.missing_dimension[row] = missing_dimension
        self.idle_fits[row] = idle_fits
        code = reason = 0
        for voter in self.filters:
            if isinstance(voter, FilterVoter):
                error = voter.one(task, nodes.handle(row))
                if error is not None and error.code:
                    code, reason = error.code, REASONS.id(error)
                    break
            elif voter.codes[row]:
                code, reason = voter.codes[row], voter.reasons[row]
                break
        if self.codes.item(row) != code:
            self.codes[row] = code
            self.resolvable = None
        self.reasons[row] = reason

    def _refresh_score(self, task: Task, row: int) -> None:
        score, node = 0.0, self.nodes.handle(row)
        for scorer in self.scorers or ():
            if isinstance(scorer, ScoreVoter):
                score += scorer.one(task, node)
            else:
                score += scorer.item(row)
        self.scores[row] = score
        passes = not (self.codes[row] or self.missing_dimension[row] or isnan(score))
        if passes and self.rejected is not None and self.rejected[row]:
            passes = False
        future = score if passes else _OUT
        if self.span_scorers:
            self.future_scores[row] = future
        else:
            self.best_future.set(row, future)
        self.best_idle.set(row, future if self.idle_fits[row] else _OUT)

    def _refresh_rows(self, task: Task, rows: np.ndarray | None) -> None:
        nodes = self.nodes
        where = slice(None) if rows is None else rows
        count = len(nodes) if rows is None else len(rows)
        self.missing_dimension[where] = self.fit.missing_dimensions(nodes.future_idle[where])
        self.idle_fits[where] = self.fit.mask(nodes.idle[where])
        combined = NodeVerdicts.accept(count)
        for voter in self.filters:
            if isinstance(voter, FilterVoter):
                verdicts = voter.many(task, nodes, rows)
                if verdicts is not None:
                    merge(combined, verdicts)
            else:
                merge(combined, NodeVerdicts(voter.codes[where], voter.reasons[where]))
        self.codes[where] = combined.codes
        self.resolvable = None
        self.reasons[where] = combined.reasons

    def _refresh_many_scores(self, task: Task, rows: np.ndarray | None) -> None:
        nodes = self.nodes
        where = slice(None) if rows is None else rows
        total = np.zeros(len(nodes) if rows is None else len(rows))
        for scorer in self.scorers or ():
            if isinstance(scorer, ScoreVoter):
                scores = scorer.many(task, nodes, rows)
                if scores is not None:
                    total += scores
            else:
                total += scorer[where]
        self.scores[where] = total
        fits = (self.codes[where] == 0) & (self.missing_dimension[where] == 0)
        passes = fits & ~np.isnan(total)
        if self.rejected is not None:
            passes &= ~self.rejected[where]
        self.future_scores[where] = np.where(passes, total, _OUT)
        self.idle_scores[where] = np.where(passes & self.idle_fits[where], total, _OUT)
        self.best_idle.forget()
        if not self.span_scorers:
            self.best_future.forget()


def merge(into: NodeVerdicts, verdicts: NodeVerdicts) -> None:
    """Add a later plugin's objections on the nodes to which no earlier one objected."""
    fresh = (into.codes == 0) & (verdicts.codes != 0)
    if np.count_nonzero(fresh):  # quicker than any()
        into.codes[fresh] = verdicts.codes[fresh]
        into.reasons[fresh] = verdicts.reasons[fresh]


def _static_filters(
    task: Task, nodes: NodeTable, filters: Sequence[tuple[FilterVoter, Scope]]
) -> list[FilterVoter | NodeVerdicts]:
    """The filters in policy order, those of scope ``static`` replaced by their verdicts."""
    ordered: list[FilterVoter | NodeVerdicts] = []
    for voter, scope in filters:
        if scope != "static":
            ordered.append(voter)
            continue
        verdicts = voter.many(task, nodes, None)
        if verdicts is not None and verdicts.codes.any():
            ordered.append(verdicts)
    return ordered


def _static_scorers(
    task: Task, nodes: NodeTable, scorers: Sequence[tuple[ScoreVoter, Scope]]
) -> list[ScoreVoter | np.ndarray]:
    """The scorers of scope ``row``, and the scores of those of scope ``static``."""
    ordered: list[ScoreVoter | np.ndarray] = []
    for voter, scope in scorers:
        if scope == "row":
            ordered.append(voter)
        elif scope == "static":
            scores = voter.many(task, nodes, None)
            if scores is not None and scores.any():
                ordered.append(scores)
    return ordered
