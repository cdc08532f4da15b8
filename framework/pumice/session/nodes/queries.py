"""Node questions: which nodes can take a task, and which is best."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pumice.combine import SKIP, fail
from pumice.fit_errors import FitErrors
from pumice.model.task import Task
from pumice.session.nodes.class_cache import merge
from pumice.session.nodes.classes import TaskClass, TaskClasses
from pumice.session.nodes.voters import filter_voters, score_voters
from pumice.verdicts import REASONS, Code, FitError, NodeVerdicts

if TYPE_CHECKING:
    from pumice.session.session import Session

_SKIPPED = "pumice.skipped"
_NOBODY: tuple[str, ...] = ()
PATIENCE = 4
"""So many nodes are asked one by one before the rest is asked at once."""
Rows = np.ndarray | None
"""Node rows in ascending order; None: all nodes."""


class Choice(NamedTuple):
    """The node chosen for a task, and whether it has the room right now."""

    row: int
    """The node's row in the node table."""
    idle: bool
    """Whether the request fits what is idle; else it waits for releasing resources."""


class NodeQueries:
    """Asks filters and scorers, remembers their answers by class of tasks."""

    def __init__(self, session: Session, *, verify: bool = False) -> None:
        self._session = session
        self._nodes = session.nodes
        filters = filter_voters(session.ask, session.ledger)
        scorers = score_voters(session.ask, session.ledger)
        preparing = [position for tier in session.ask.voters["pre_predicate"] for position in tier]
        self._pre = [impl for impl, _ in preparing]
        self._plain_choice = not any(
            session.ask.has(point) for point in ("best_node", "node_map", "node_reduce")
        )
        self._classes = TaskClasses(session, preparing, filters, scorers, verify=verify)
        self._patience = PATIENCE if session.uses("patience") and session.uses("answers") else 0
        self._shares_reasons = session.uses("reasons")
        self._insufficient = [
            REASONS.id(FitError.of(f"Insufficient {name}"))
            for name in session.nodes.dimensions.names
        ]

    # -- preparing

    def prepare(self, task: Task) -> FitError | None:
        """Ask ``pre_predicate``; plugins that answer SKIP are left out for this task."""
        if not self._pre:
            return None
        skipped: list[str] = []
        for impl in self._pre:
            try:
                answer = impl.fn(task, task.job)
            except Exception as exc:
                fail("pre_predicate", impl, exc)
            if answer is SKIP:
                skipped.append(impl.plugin)
            elif answer is not None:
                return answer if isinstance(answer, FitError) else FitError.of(str(answer))
        task.state[_SKIPPED] = tuple(skipped) if skipped else _NOBODY
        return None

    def class_id(self, task: Task) -> int:
        """The number of the class of tasks that ask the same."""
        return self._classes.number(task) if task.class_id < 0 else task.class_id

    def _class(self, task: Task) -> TaskClass:
        return self._classes.of(task, task.state.get(_SKIPPED, _NOBODY))

    # -- asking

    def verdicts(self, task: Task, rows: Rows = None) -> NodeVerdicts:
        """What the filters say of these nodes, room left aside."""
        found = self._class(task)
        answers = found.answers
        where = slice(None) if rows is None else rows
        combined = NodeVerdicts(answers.codes[where].copy(), answers.reasons[where].copy())
        for voter in found.live_filters:
            verdicts = voter.many(task, self._nodes, rows)
            if verdicts is not None:
                merge(combined, verdicts)
        return combined

    def predicate(self, task: Task, row: int) -> FitError | None:
        """What the filters say of one node as it is now."""
        found = self._class(task)
        if found.answers.codes[row]:
            return REASONS[int(found.answers.reasons[row])]
        return self._objection(task, found, row)

    def _objection(self, task: Task, found: TaskClass, row: int) -> FitError | None:
        """What those say of one node who must be asked every time."""
        for voter in found.live_filters:
            error = voter.one(task, self._nodes, row)
            if error is not None and error.code:
                return error
        return None

    def remembered_ok(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: what the filters that need not be asked again let through."""
        codes = self._class(task).answers.codes
        passed: np.ndarray = (codes if rows is None else codes[rows]) == 0
        return passed

    def fits_future(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the request fits into what is free once promises are kept."""
        fits: np.ndarray = self._class(task).answers.missing_dimension == 0
        return fits if rows is None else fits[rows]

    def fits_idle(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the request fits into what is idle now."""
        fits = self._class(task).answers.idle_fits
        return fits if rows is None else fits[rows]

    def scores(self, task: Task, rows: Rows = None) -> np.ndarray:
        """The total score of each of these nodes; normalised scores see exactly these nodes."""
        found = self._class(task)
        answers = found.answers
        if rows is None:
            answers.renew_totals(task)
        total = answers.totals.copy() if rows is None else answers.scores[rows]
        return self._add_asked(task, found, rows, total)

    def _add_asked(self, task: Task, found: TaskClass, rows: Rows, total: np.ndarray) -> np.ndarray:
        """Add what is not remembered of these nodes."""
        voters = found.live_scorers
        if rows is not None and found.answers.spanning:
            voters = [*found.answers.spanning, *voters]
        for voter in voters:
            scores = voter.many(task, self._nodes, rows)
            if scores is not None:
                total += scores
        if not self._plain_choice:
            total += self._reduced(task, rows)
        return total

    def hopeful(self, task: Task, rows: Rows = None) -> np.ndarray:
        """The total score where there is room, now or promised, else minus infinity.

        The filters that must be asked every time have not been asked. Do not write to it.
        """
        found = self._class(task)
        answers = found.answers
        if rows is None:
            answers.renew_totals(task)
        if rows is None and self._plain_choice and not found.live_scorers:
            return answers.future_totals
        able = answers.future_totals.copy() if rows is None else answers.future_scores[rows]
        total = self._add_asked(task, found, rows, able)
        out = np.isnan(total)
        if out.any():
            total[out] = -np.inf
        return total

    def _reduced(self, task: Task, rows: Rows) -> np.ndarray:
        """What ``node_map`` and ``node_reduce`` of the same plugin add."""
        view = self._nodes.view(rows)
        mapped = self._session.ask.node_map(task, view)
        reducers = {
            impl.plugin: impl
            for tier in self._session.ask.voters["node_reduce"]
            for impl, _ in tier
        }
        total = np.zeros(len(view))
        for plugin, scores in mapped.items():
            if scores is not None and plugin in reducers:
                try:
                    reduced = reducers[plugin].fn(task, np.floor(scores))
                except Exception as exc:
                    fail("node_reduce", reducers[plugin], exc)
                if reduced is not None:
                    total += reduced
        return total

    def asks_every_time(self, task: Task) -> bool:
        """Whether a filter of this task reaches beyond the node's own row."""
        return bool(self._class(task).live_filters)

    def able(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask over all nodes: those of ``rows`` with room, now or promised, that pass."""
        answers = self._class(task).answers
        able: np.ndarray = (answers.missing_dimension == 0) & (answers.codes == 0)
        if rows is not None:
            inside = np.zeros(len(able), bool)
            inside[rows] = True
            able &= inside
        candidates = np.flatnonzero(able)
        able[candidates] = self.verdicts(task, candidates).ok
        return able

    # -- choosing

    def best(
        self, task: Task, rows: Rows = None, *, exclude: np.ndarray | None = None
    ) -> Choice | None:
        """The best node with idle room, else the best whose room is being freed, else None.

        ``exclude`` is a mask over all nodes.
        """
        found = self._class(task)
        answers = found.answers
        if found.by_rank and self._plain_choice and exclude is None and self._patience:
            ranked = answers.idle_scores if rows is None else answers.idle_scores[rows]
            row = self._first_that_passes(task, found, rows, ranked)
            if row is not None:
                return Choice(row, True)
        able = self.able(task, rows)
        if exclude is not None:
            able &= ~exclude
        candidates = np.flatnonzero(able)
        idle = answers.idle_fits[candidates]
        for group, has_room in ((candidates[idle], True), (candidates[~idle], False)):
            if len(group):
                return Choice(self.pick(task, group), has_room)
        return None

    def _first_that_passes(
        self, task: Task, found: TaskClass, rows: Rows, ranked: np.ndarray
    ) -> int | None:
        """The best by rank of which no filter complains; None: not found within patience.

        Mostly the best one passes, so the others are not asked.
        """
        for attempt in range(self._patience if len(ranked) else 0):
            position = int(ranked.argmax())
            if ranked[position] == -np.inf:
                return None
            row = position if rows is None else int(rows[position])
            if self._objection(task, found, row) is None:
                return row
            if not attempt:
                ranked = ranked.copy()
            ranked[position] = -np.inf
        return None

    def pick(self, task: Task, rows: np.ndarray) -> int:
        """The best of these rows by score; a single one is taken without scoring."""
        if len(rows) == 1:
            return int(rows[0])
        scores = self.scores(task, rows)
        if not self._plain_choice and self._session.ask.has("best_node"):
            buckets: dict[float, list[str]] = {}
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                buckets.setdefault(score, []).append(self._nodes.names[row])
            name = self._session.ask.best_node(task, buckets)
            if name is not None:
                return self._nodes.row_of[name]
        return int(rows[int(np.nan_to_num(scores, nan=-np.inf).argmax())])

    # -- explaining

    def fit_errors(self, task: Task, rows: Rows = None, *, hyper_node: str = "") -> FitErrors:
        """Why none of these nodes can take the task: room first, then the filters."""
        found = self._class(task)
        answers = found.answers
        shared = rows is None and not found.live_filters and self._shares_reasons
        if shared and answers.snapshot is not None and answers.snapshot[0] == answers.version:
            return FitErrors(answers.snapshot[1], None, hyper_node=hyper_node)
        verdicts = self.verdicts(task, rows)
        short = answers.missing_dimension if rows is None else answers.missing_dimension[rows]
        lacking = np.flatnonzero(short)
        verdicts.codes[lacking] = Code.UNSCHEDULABLE
        verdicts.reasons[lacking] = np.array(self._insufficient, np.int32)[short[lacking] - 1]
        if shared:
            answers.snapshot = (answers.version, verdicts)
        return FitErrors(verdicts, rows, hyper_node=hyper_node)
