"""Place one task on the best node that takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pumice.fit_errors import FitErrors
from pumice.model.task import Task
from pumice.session.nodes.best_rows import best_rows_first
from pumice.session.nodes.gpu_devices import choose_groups, fits_rows, groups_fit_idle
from pumice.session.statement import Statement
from pumice.verdicts import FitError

if TYPE_CHECKING:
    from pumice.session.session import Session

_NO_SHARE = FitError.of("Insufficient room on shared GPUs")


class TaskPlacer:
    """Places tasks in one statement.

    ``simulate``: tasks are only pipelined, and no fit errors are recorded.
    """

    __slots__ = ("_session", "_statement", "simulate")

    def __init__(self, session: Session, statement: Statement, *, simulate: bool) -> None:
        self._session = session
        self._statement = statement
        self.simulate = simulate

    def place(self, task: Task, rows: np.ndarray | None) -> bool:
        """Place a task on one of these rows; False: none of them takes it."""
        error = self._session.queries.prepare(task)
        if error is None and self._place_on_best(task, rows):
            return True
        if not self.simulate:
            assert task.job is not None
            task.job.fit_errors[task.uid] = (
                self._explain(task, rows)
                if error is None
                else FitErrors.for_all(error, len(self._session.nodes))
            )
        return False

    def _place_on_best(self, task: Task, rows: np.ndarray | None) -> bool:
        queries = self._session.queries
        queries.before_scoring(task, rows)
        candidates = best_rows_first(
            self._scores(task, rows),
            rows,
            one_by_one=queries.one_by_one,
            accepts=lambda row: queries.predicate(task, row) is None,
            accepts_many=lambda others: queries.verdicts(task, others).ok,
        )
        for row in candidates:  # noqa: SIM110  (a hot path: no frame for a generator)
            if self._place_on(task, row):
                return True
        return False

    def _scores(self, task: Task, rows: np.ndarray | None) -> np.ndarray:
        """The score of each row; minus infinity where the task does not fit into future idle."""
        queries = self._session.queries
        if not task.best_effort and not task.gpu.shared:
            return queries.future_scores(task, rows)
        scores = queries.scores(task, rows)
        fits = fits_rows(self._session, task, rows, idle=False)
        usable = fits & queries.cached_ok(task, rows) & ~np.isnan(scores)
        return np.where(usable, scores, -np.inf)

    def _place_on(self, task: Task, row: int) -> bool:
        session, statement = self._session, self._statement
        groups: tuple[str, ...] | None = None
        if task.gpu.shared:
            groups = choose_groups(session, task, row)
            if groups is None:
                return False
        if self.simulate or not self._fits_idle(task, row, groups):
            return statement.pipeline(task, row, groups=groups, verified=True) is None
        return statement.allocate(task, row, groups=groups, verified=True) is None

    def _fits_idle(self, task: Task, row: int, groups: tuple[str, ...] | None) -> bool:
        if groups is not None:
            return groups_fit_idle(self._session, task, row, groups)
        return task.best_effort or bool(self._session.queries.fits_idle(task)[row])

    def _explain(self, task: Task, rows: np.ndarray | None) -> FitErrors:
        errors = self._session.queries.fit_errors(task, rows)
        if task.gpu.shared and errors.verdicts is not None:
            fits = fits_rows(self._session, task, rows, idle=False)
            return errors.overlaid(errors.verdicts.ok & ~fits, _NO_SHARE)
        return errors
