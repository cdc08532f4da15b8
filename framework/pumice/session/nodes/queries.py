"""Node queries: which nodes can take a task, and which of them is best."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pumice.combine import SKIP, fail
from pumice.fit_errors import FitErrors
from pumice.model.task import Task
from pumice.session.answer_checks import fit_error
from pumice.session.nodes.best_rows import FEW_TRIES, best_rows_first
from pumice.session.nodes.class_cache import merge
from pumice.session.nodes.classes import TaskClass, TaskClasses
from pumice.session.nodes.gpu_devices import DeviceFits
from pumice.session.nodes.voters import filter_voters, score_voters
from pumice.verdicts import REASONS, Code, FitError, NodeVerdicts

if TYPE_CHECKING:
    from pumice.session.session import Session

_SKIPPED = "pumice.skipped"
_OK, _UNSCHEDULABLE = int(Code.OK), int(Code.UNSCHEDULABLE)
_NO_PLUGINS: tuple[str, ...] = ()
_OUT = -np.inf
Rows = np.ndarray | None
"""Node rows in ascending order; None: all nodes."""
NOWHERE = -2
"""Instead of a row: no node has or will have room for the task."""


class Choice(NamedTuple):
    """The node chosen for a task."""

    row: int
    """The node's row in the node table."""
    idle: bool
    """Whether the request fits what is idle; else it waits for releasing resources."""


def _is_resolvable(codes: np.ndarray) -> np.ndarray:
    mask: np.ndarray = (codes == _OK) | (codes == _UNSCHEDULABLE)
    return mask


class NodeQueries:
    """Asks the filters and scorers; caches their answers by class of tasks."""

    def __init__(self, session: Session, *, verify: bool = False) -> None:
        self._session = session
        self._nodes = session.nodes
        filters = filter_voters(session.ask, session.ledger)
        scorers = score_voters(session.ask, session.ledger)
        preparing = [bound for tier in session.ask.voters["pre_predicate"] for bound in tier]
        self._pre = [impl for impl, _ in preparing]
        self._score_decides = not any(
            session.ask.has(point) for point in ("best_node", "node_map", "node_reduce")
        )
        """Whether the sum of the cached scorers decides alone."""
        self._classes = TaskClasses(session, preparing, filters, scorers, verify=verify)
        self.one_by_one = FEW_TRIES if session.uses("node_cache") else 0
        """How many of the best nodes are asked one by one before all others are."""
        self.device_fits = (
            DeviceFits(session.nodes, verify=verify) if session.uses("node_cache") else None
        )
        """Which nodes have devices for shares of GPUs; None: asked every time."""
        self._has_pre_order = session.ask.has("node_pre_order")
        self._shares_reasons = session.uses("node_cache")
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
                if answer is SKIP:
                    skipped.append(impl.plugin)
                elif answer is not None:
                    return fit_error(answer)
            except BaseException as exc:
                fail("pre_predicate", impl, exc, (task,))
        if skipped:
            task.state[_SKIPPED] = tuple(skipped)
        elif task.state:
            task.state.pop(_SKIPPED, None)
        return None

    def before_scoring(self, task: Task, rows: Rows) -> None:
        """Tell the plugins that these nodes are about to be scored (``node_pre_order``)."""
        if self._has_pre_order:
            self._session.ask.node_pre_order(task, self._nodes.view(rows))

    def class_id(self, task: Task) -> int:
        """The number of the task's class: tasks of one class get the same cache."""
        return self._classes.number(task) if task.class_id < 0 else task.class_id

    def same_class(self, left: Task, right: Task) -> bool:
        """Whether two tasks get the same cache, and the same filters were left out for them."""
        return self.class_id(left) == self.class_id(right) and (
            left.state.get(_SKIPPED, _NO_PLUGINS) == right.state.get(_SKIPPED, _NO_PLUGINS)
        )

    def _class(self, task: Task) -> TaskClass:
        return self._classes.of(task, task.state.get(_SKIPPED, _NO_PLUGINS))

    # -- asking

    def verdicts(self, task: Task, rows: Rows = None) -> NodeVerdicts:
        """The filters' verdict on these nodes; whether the request fits is not looked at."""
        found = self._class(task)
        cache = found.cache
        where = slice(None) if rows is None else rows
        combined = NodeVerdicts(cache.codes[where].copy(), cache.reasons[where].copy())
        for voter in found.live_filters:
            verdicts = voter.many(task, self._nodes, rows)
            if verdicts is not None:
                merge(combined, verdicts)
        return combined

    def resolvable(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the nodes that the filters accept, or whose refusal an eviction may resolve.

        Whether the request fits is not looked at. Do not write to the mask.
        """
        found = self._class(task)
        if found.live_filters:
            return _is_resolvable(self.verdicts(task, rows).codes)
        cache = found.cache
        if cache.resolvable is None:
            cache.resolvable = _is_resolvable(cache.codes)
        return cache.resolvable if rows is None else cache.resolvable[rows]

    def predicate(self, task: Task, row: int) -> FitError | None:
        """Why the filters reject one node as it is now; None: they do not."""
        found = self._class(task)
        if found.cache.codes[row]:
            return REASONS[int(found.cache.reasons[row])]
        return self._objection(task, found, row)

    def _objection(self, task: Task, found: TaskClass, row: int) -> FitError | None:
        """Why the filters that are not cached reject one node; None: they do not."""
        for voter in found.live_filters:
            error = voter.one(task, self._nodes.handle(row))
            if error is not None and error.code:
                return error
        return None

    def cached_ok(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the nodes that the cached filters accept."""
        codes = self._class(task).cache.codes
        passed: np.ndarray = (codes if rows is None else codes[rows]) == 0
        return passed

    def static_rejections(self, task: Task) -> np.ndarray | None:
        """Mask: the nodes that a filter rejects for the whole cycle; None: none is known."""
        return self._class(task).cache.rejected

    def fits_future(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the request fits into future idle: idle + releasing - pipelined."""
        fits: np.ndarray = self._class(task).cache.missing_dimension == 0
        return fits if rows is None else fits[rows]

    def fits_idle(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the request fits into idle."""
        fits = self._class(task).cache.idle_fits
        return fits if rows is None else fits[rows]

    def scores(self, task: Task, rows: Rows = None) -> np.ndarray:
        """The total score of each of these nodes; normalised scores see exactly these nodes."""
        found = self._scored(task, rows)
        cache = found.cache
        total = cache.totals.copy() if rows is None else cache.scores[rows]
        return self._add_uncached(task, found, rows, total)

    def _scored(self, task: Task, rows: Rows) -> TaskClass:
        """The task's class, its cached totals (of all nodes) or scores (of some) up to date."""
        found = self._class(task)
        if rows is None:
            found.cache.refresh_totals(task)
        else:
            found.cache.refresh_scores(task)
        return found

    def _add_uncached(
        self, task: Task, found: TaskClass, rows: Rows, total: np.ndarray
    ) -> np.ndarray:
        """Add the scores of these nodes that are not cached."""
        voters = found.live_scorers
        if rows is not None and found.cache.span_scorers:
            voters = [*found.cache.span_scorers, *voters]
        for voter in voters:
            scores = voter.many(task, self._nodes, rows)
            if scores is not None:
                total += scores
        if not self._score_decides:
            total += self._reduced(task, rows)
        return total

    def future_scores(self, task: Task, rows: Rows = None) -> np.ndarray:
        """The total score where the request fits into future idle, else minus infinity.

        Filters that are not cached have not been asked. Do not write to the array.
        """
        found = self._scored(task, rows)
        cache = found.cache
        if rows is None and self._score_decides and not found.live_scorers:
            return cache.future_totals
        cached = cache.future_totals.copy() if rows is None else cache.future_scores[rows]
        total = self._add_uncached(task, found, rows, cached)
        out = np.isnan(total)
        if np.count_nonzero(out):  # quicker than any()
            total[out] = -np.inf
        return total

    def _reduced(self, task: Task, rows: Rows) -> np.ndarray:
        """The scores that ``node_map`` and ``node_reduce`` of the same plugin add."""
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
                impl = reducers[plugin]
                try:
                    reduced = impl.fn(task, np.floor(scores))
                    if reduced is not None:
                        total += impl.check(reduced, (task, scores))
                except BaseException as exc:
                    fail("node_reduce", impl, exc, (task,))
        return total

    def has_live_filters(self, task: Task) -> bool:
        """Whether a filter of this task looks beyond the node's own row, so it is not cached."""
        return bool(self._class(task).live_filters)

    def feasible(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask over all nodes: those of ``rows`` that pass and whose future idle fits."""
        found = self._class(task)
        cache = found.cache
        feasible: np.ndarray = (cache.missing_dimension == 0) & (cache.codes == 0)
        if rows is not None:
            inside = np.zeros(len(feasible), bool)
            inside[rows] = True
            feasible &= inside
        if found.live_filters:
            candidates = np.flatnonzero(feasible)
            feasible[candidates] = self.verdicts(task, candidates).ok
        return feasible

    # -- choosing

    def best(
        self, task: Task, rows: Rows = None, *, exclude: np.ndarray | None = None
    ) -> Choice | None:
        """The best node that fits the task into idle, else into future idle, else None.

        ``exclude`` is a mask over all nodes.
        """
        found = self._class(task)
        cache = found.cache
        all_cached = rows is None and exclude is None and not found.live_filters
        if all_cached and cache.no_node_version == cache.cursor.version:
            return None
        if (
            found.by_rank
            and self._score_decides
            and exclude is None
            and self.one_by_one
            and (cache.scorers is not None or cache.fits_somewhere)
        ):
            cache.refresh_scores(task)
            scores = cache.idle_scores if rows is None else cache.idle_scores[rows]
            for row in islice(best_rows_first(scores, rows), self.one_by_one):
                if self._objection(task, found, row) is None:
                    return Choice(row, True)
        feasible = self.feasible(task, rows)
        if exclude is not None:
            feasible &= ~exclude
        candidates = np.flatnonzero(feasible)
        idle = cache.idle_fits[candidates]
        for group, fits_idle in ((candidates[idle], True), (candidates[~idle], False)):
            if len(group):
                return Choice(self.pick(task, group), fits_idle)
        if all_cached:
            cache.no_node_version = cache.cursor.version
        return None

    def best_idle(self, task: Task, *, among_future: bool) -> int:
        """The row of the best node where it is the first one tried and takes the task now, else -1.

        ``among_future``: the best of all nodes whose future idle fits, else of those whose idle
        does. -1 says only that the other queries have to be asked, ``NOWHERE`` that they would find
        no node.
        """
        if self._has_pre_order or not self._score_decides or not self.one_by_one:
            return -1
        found = self._classes.of(task, task.state.get(_SKIPPED, _NO_PLUGINS), scored=True)
        cache = found.cache
        nowhere = cache.nowhere_version if among_future else cache.no_node_version
        if nowhere == cache.cursor.version:
            return NOWHERE
        if found.live_scorers or not (among_future or found.by_rank) or not len(cache.codes):
            return -1
        if among_future:
            cache.refresh_totals(task)
            best = cache.best_future
        else:
            cache.refresh_scores(task)
            best = cache.best_idle
        row, score = best.find()
        if score == _OUT or not cache.idle_fits[row]:
            if among_future and score == _OUT:
                cache.nowhere_version = cache.cursor.version
                return NOWHERE
            return -1
        return row if self._objection(task, found, row) is None else -1

    def pick(self, task: Task, rows: np.ndarray) -> int:
        """The best of these rows by score; a single one is taken without scoring."""
        if len(rows) == 1:
            return int(rows[0])
        scores = self.scores(task, rows)
        if not self._score_decides and self._session.ask.has("best_node"):
            buckets: dict[float, list[str]] = {}
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True):
                buckets.setdefault(score, []).append(self._nodes.names[row])
            name = self._session.ask.best_node(task, buckets)
            if name is not None:
                return self._nodes.row_of[name]
        best = int(scores.argmax())
        if scores[best] != scores[best]:  # argmax takes NaN for the highest
            best = int(np.where(np.isnan(scores), -np.inf, scores).argmax())
        return int(rows[best])

    # -- explaining

    def fit_errors(self, task: Task, rows: Rows = None, *, hyper_node: str = "") -> FitErrors:
        """Why none of these nodes takes the task: missing resources first, then the filters."""
        found = self._class(task)
        cache = found.cache
        shared = rows is None and not found.live_filters and self._shares_reasons
        known = cache.fit_errors
        if shared and known is not None and known[0] == cache.cursor.version:
            errors = known[1]
            if errors.hyper_node == hyper_node:
                return errors
            return FitErrors(errors.verdicts, None, hyper_node=hyper_node)
        verdicts = self.verdicts(task, rows)
        short = cache.missing_dimension if rows is None else cache.missing_dimension[rows]
        lacking = np.flatnonzero(short)
        verdicts.codes[lacking] = Code.UNSCHEDULABLE
        verdicts.reasons[lacking] = np.array(self._insufficient, np.int32)[short[lacking] - 1]
        errors = FitErrors(verdicts, rows, hyper_node=hyper_node)
        if shared:
            cache.fit_errors = (cache.cursor.version, errors)
        return errors
