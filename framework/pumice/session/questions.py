"""Node questions: which nodes can take a task, and which is best."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pumice.combine import SKIP, fail
from pumice.errors import InvariantError
from pumice.fit import FitErrors
from pumice.model.task import Task
from pumice.plugin import Plugin
from pumice.session.answers import ClassAnswers, merge
from pumice.session.voices import Filter, Scorer, gather_filters, gather_scorers
from pumice.verdicts import REASONS, Code, FitError, NodeVerdicts

if TYPE_CHECKING:
    from pumice.session.session import Session

_SKIPPED = "pumice.skipped"
_NOBODY: tuple[str, ...] = ()
Rows = np.ndarray | None
"""Node rows in ascending order; None: all nodes."""


class Choice(NamedTuple):
    """The node chosen for a task, and whether it has the room right now."""

    row: int
    idle: bool


class NodeQuestions:
    """Asks filters and scorers, remembers their answers by class of tasks."""

    def __init__(self, session: Session, *, verify: bool = False) -> None:
        self._session = session
        self._nodes = session.nodes
        self._filters = gather_filters(session.ask, session.ledger)
        self._scorers = gather_scorers(session.ask, session.ledger)
        self._pre = [impl for tier in session.ask.voters["pre_predicate"] for impl, _ in tier]
        self._plain_choice = not any(
            session.ask.has(point) for point in ("best_node", "node_map", "node_reduce")
        )
        self._verify = verify
        self._remembers = session.uses("answers")
        self._scalar = session.uses("scalar")
        self._classes: dict[Hashable, int] = {}
        self._memo: dict[tuple[int, tuple[str, ...]], _Class] = {}
        reads = {name for voice in (*self._filters, *self._scorers) for name in voice.plugin.reads}
        self._reads = tuple(sorted(reads))
        by_plugin = {voice.plugin: voice for voice in (*self._filters, *self._scorers)}
        self._keyed = [
            voice
            for plugin, voice in by_plugin.items()
            if type(plugin).class_key is not Plugin.class_key
        ]
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
        if task.class_id < 0:
            key = (
                task.vector.tobytes(),
                task.compared,
                task.constraints,
                *[_hashable(getattr(task, name)) for name in self._reads],
                *[voice.class_key(task) for voice in self._keyed],
            )
            task.class_id = self._classes.setdefault(key, len(self._classes))
        return task.class_id

    def _class(self, task: Task) -> _Class:
        key = (self.class_id(task), task.state.get(_SKIPPED, _NOBODY))
        found = self._memo.get(key) if self._remembers else None
        if found is None:
            found = self._memo[key] = self._new_class(task, key[1])
        else:
            found.answers.renew(task)
        if self._verify:
            self._compare(task, found, key[1])
        return found

    def _new_class(self, task: Task, skipped: tuple[str, ...]) -> _Class:
        filters = [voice for voice in self._filters if voice.name not in skipped]
        bound = [voice.reach(task) != "cluster" for voice in filters]
        scorer_bound = [voice.reach(task) != "cluster" for voice in self._scorers]
        # Filters are combined in policy order, so that only those before the first one that
        # must be asked every time can be remembered together.
        first_live = bound.index(False) if False in bound else len(bound)
        return _Class(
            ClassAnswers(
                task,
                self._nodes,
                filters[:first_live],
                [v for v, keep in zip(self._scorers, scorer_bound, strict=True) if keep],
                scalar=self._scalar,
            ),
            filters[first_live:],
            [v for v, keep in zip(self._scorers, scorer_bound, strict=True) if not keep],
        )

    def _compare(self, task: Task, found: _Class, skipped: tuple[str, ...]) -> None:
        fresh = self._new_class(task, skipped).answers
        kept = found.answers
        for name in ("short", "idle_fits", "codes", "reasons", "scores", "ranked"):
            old, new = getattr(kept, name), getattr(fresh, name)
            if not np.array_equal(old, new, equal_nan=True):
                row = int(np.flatnonzero(old != new)[0])
                raise InvariantError(
                    f"remembered {name} of task {task.key} on node {self._nodes.names[row]} is "
                    f"{old[row]}, asked again it is {new[row]}",
                    hint="a plugin's scope reaches further than it declares, or its scalar and "
                    "vector forms disagree",
                )

    # -- asking

    def verdicts(self, task: Task, rows: Rows = None) -> NodeVerdicts:
        """What the filters say of these nodes, room left aside."""
        found = self._class(task)
        answers = found.answers
        where = slice(None) if rows is None else rows
        combined = NodeVerdicts(answers.codes[where].copy(), answers.reasons[where].copy())
        for voice in found.live_filters:
            verdicts = voice.many(task, self._nodes, rows)
            if verdicts is not None:
                merge(combined, verdicts)
        return combined

    def predicate(self, task: Task, row: int) -> FitError | None:
        """What the filters say of one node as it is now."""
        found = self._class(task)
        if found.answers.codes[row]:
            return REASONS[int(found.answers.reasons[row])]
        for voice in found.live_filters:
            error = voice.one(task, self._nodes, row)
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
        fits: np.ndarray = self._class(task).answers.short == 0
        return fits if rows is None else fits[rows]

    def fits_idle(self, task: Task, rows: Rows = None) -> np.ndarray:
        """Mask: the request fits into what is idle now."""
        fits = self._class(task).answers.idle_fits
        return fits if rows is None else fits[rows]

    def scores(self, task: Task, rows: Rows = None) -> np.ndarray:
        """The total score of each of these nodes; normalised scores see exactly these nodes."""
        found = self._class(task)
        scores_now = found.answers.scores
        total: np.ndarray = scores_now.copy() if rows is None else scores_now[rows]
        for voice in found.live_scorers:
            scores = voice.many(task, self._nodes, rows)
            if scores is not None:
                total += scores
        if not self._plain_choice:
            total += self._reduced(task, rows)
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
        able: np.ndarray = (answers.short == 0) & (answers.codes == 0)
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
        if found.simple and self._plain_choice and exclude is None and self._remembers:
            ranked = answers.ranked if rows is None else answers.ranked[rows]
            if not len(ranked):
                return None
            position = int(ranked.argmax())
            if ranked[position] != -np.inf:
                return Choice(position if rows is None else int(rows[position]), True)
        able = self.able(task, rows)
        if exclude is not None:
            able &= ~exclude
        candidates = np.flatnonzero(able)
        idle = answers.idle_fits[candidates]
        for group, has_room in ((candidates[idle], True), (candidates[~idle], False)):
            if len(group):
                return Choice(self.pick(task, group), has_room)
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
        shared = rows is None and found.remembered_filters
        known = answers.snapshot if shared else None
        if known is not None and known[0] == answers.version and self._session.uses("reasons"):
            return FitErrors(known[1], None, hyper_node=hyper_node)
        verdicts = self.verdicts(task, rows)
        short = answers.short if rows is None else answers.short[rows]
        lacking = np.flatnonzero(short)
        verdicts.codes[lacking] = Code.UNSCHEDULABLE
        verdicts.reasons[lacking] = np.array(self._insufficient, np.int32)[short[lacking] - 1]
        if shared:
            answers.snapshot = (answers.version, verdicts)
        return FitErrors(verdicts, rows, hyper_node=hyper_node)


class _Class(NamedTuple):
    """What is known of one class of tasks, and who must be asked every time."""

    answers: ClassAnswers
    live_filters: list[Filter]
    live_scorers: list[Scorer]

    @property
    def simple(self) -> bool:
        return not self.live_filters and not self.live_scorers

    @property
    def remembered_filters(self) -> bool:
        return not self.live_filters


def _hashable(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    uid: Hashable = getattr(value, "uid", value)
    return uid
