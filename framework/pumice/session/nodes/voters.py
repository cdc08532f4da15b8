"""Filters and scorers: a plugin's scalar and vector forms behind one interface."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import isinf, isnan
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_args

import numpy as np

from pumice.combine import Impl, fail
from pumice.errors import AnswerError
from pumice.plugin import SCOPE_ATTRIBUTE, Plugin, Scope
from pumice.session.answer_checks import fit_error, node_mask, node_verdicts, score, score_vector
from pumice.verdicts import FitError, NodeVerdicts

if TYPE_CHECKING:
    from pumice.ledger import Ledger
    from pumice.model.nodes import NodeHandle, NodeTable
    from pumice.model.task import Task
    from pumice.session.dispatch import Dispatch

_SCOPES = get_args(Scope)


class NodeVoter:
    """One plugin's filter or scorer: the vector form, the scalar form, or both."""

    __slots__ = ("ledger", "name", "plugin", "point", "scalar", "scope_of", "vector")
    vector_form: ClassVar[str]
    """The extension point of the vector form."""

    def __init__(
        self,
        point: str,
        plugin: Plugin,
        vector: Impl | None,
        scalar: Impl | None,
        scope_of: Callable[[Task], Scope],
        ledger: Ledger | None,
    ) -> None:
        self.point = point
        self.plugin = plugin
        self.vector = vector
        self.scalar = scalar
        self.scope_of = scope_of
        self.ledger = ledger
        self.name = self.impl.plugin

    @property
    def impl(self) -> Impl:
        impl = self.vector or self.scalar
        assert impl is not None
        return impl

    def reach(self, task: Task) -> Scope:
        """The scope that the plugin declares for the task, as far as the cache can use it."""
        try:
            scope = self.scope_of(task)
            if scope not in _SCOPES:
                raise AnswerError(scope, f"a scope ({', '.join(_SCOPES)})")
        except BaseException as exc:
            fail("scope", self.impl, exc, (task,))
        return "cluster" if scope == "span" and not self.spans else scope

    @property
    def spans(self) -> bool:
        """Whether answers of scope ``span`` can be cached row by row."""
        return False


class FilterVoter(NodeVoter):
    """``predicate`` of one plugin."""

    __slots__ = ()
    vector_form = "predicate_nodes"

    def many(self, task: Task, nodes: NodeTable, rows: np.ndarray | None) -> NodeVerdicts | None:
        """The verdicts for these rows; None: no objection to any."""
        view = nodes.view(rows)
        verdicts: NodeVerdicts | None
        if self.vector is not None:
            try:
                verdicts = self.vector.fn(task, view)
                if verdicts is not None:
                    verdicts = node_verdicts(verdicts, (view,))
            except BaseException as exc:
                fail(self.vector_form, self.vector, exc, (task,))
        else:
            verdicts = NodeVerdicts.accept(len(view))
            for position, row in enumerate(view.rows.tolist()):
                error = self.one(task, nodes.handle(row))
                if error is not None:
                    verdicts.reject_one(position, error)
        if self.ledger is not None:
            rejected = 0 if verdicts is None else int(np.count_nonzero(verdicts.codes))
            self.ledger.record(
                "verdicts",
                point=self.point,
                plugin=self.name,
                task=task.key,
                nodes=len(view),
                rejected=rejected,
            )
        return verdicts

    def static_rejections(self, task: Task, count: int) -> np.ndarray | None:
        """Mask over all nodes: those that the plugin rejects for the whole cycle."""
        try:
            mask = self.plugin.static_rejections(task)
            return None if mask is None else node_mask(mask, count)
        except BaseException as exc:
            fail("static_rejections", self.impl, exc, (task,))

    def one(self, task: Task, node: NodeHandle) -> FitError | None:
        if self.scalar is None:
            verdicts = self.many(task, node.table, np.array([node.row]))
            return None if verdicts is None else verdicts.error(0)
        try:
            error = self.scalar.fn(task, node, task.job)
            return None if error is None else fit_error(error, plugin=self.name)
        except BaseException as exc:
            fail(self.point, self.scalar, exc, (task,))


class ScoreVoter(NodeVoter):
    """``node_order`` of one plugin."""

    __slots__ = ()
    vector_form = "batch_node_order"

    def many(self, task: Task, nodes: NodeTable, rows: np.ndarray | None) -> np.ndarray | None:
        """The scores of these rows, NaN for a node that is out; None: nothing to add."""
        view = nodes.view(rows)
        scores: np.ndarray | None
        if self.vector is not None:
            try:
                scores = self.vector.fn(task, view)
                if scores is not None:
                    scores = score_vector(scores, (view,))
            except BaseException as exc:
                fail(self.vector_form, self.vector, exc, (task,))
        else:
            scores = np.array([self.one(task, node) for node in view.handles()], float)
        if self.ledger is not None:
            self.ledger.record(
                "scores",
                point=self.point,
                plugin=self.name,
                task=task.key,
                nodes=len(view),
                best=_best(scores),
            )
        return scores

    @property
    def spans(self) -> bool:
        return self.vector is not None and self.scalar is not None

    def span(self, task: Task) -> Hashable:
        try:
            span = self.plugin.span(task)
            hash(span)
        except BaseException as exc:
            fail("span", self.impl, exc, (task,))
        return span

    def one(self, task: Task, node: NodeHandle) -> float:
        if self.scalar is None:
            scores = self.many(task, node.table, np.array([node.row]))
            return 0.0 if scores is None else float(scores[0])
        try:
            answer = self.scalar.fn(task, node)
            if answer is None:
                return 0.0
            if type(answer) is not float or isinf(answer):
                answer = score(answer, of=f" for node {node.name}")
        except BaseException as exc:
            fail(self.point, self.scalar, exc, (task,))
        return answer


def _best(scores: np.ndarray | None) -> float:
    if scores is None or not len(scores):
        return 0.0
    best = float(scores[scores.argmax()])
    if isnan(best):  # numpy takes NaN for the highest
        best = float(np.fmax.reduce(scores))
    return 0.0 if isnan(best) else best


def filter_voters(ask: Dispatch, ledger: Ledger | None) -> list[FilterVoter]:
    """All filters in policy order; a plugin's two forms make one."""
    return _gather(FilterVoter, ask, ledger, "predicate", "predicate_nodes")


def score_voters(ask: Dispatch, ledger: Ledger | None) -> list[ScoreVoter]:
    """All scorers in policy order; a plugin's two forms make one."""
    return _gather(ScoreVoter, ask, ledger, "node_order", "batch_node_order")


_V = TypeVar("_V", bound=NodeVoter)


def _gather(
    kind: type[_V], ask: Dispatch, ledger: Ledger | None, scalar: str, vector: str
) -> list[_V]:
    recording = ledger if ledger is not None and ledger.watches(scalar) else None
    voters: list[_V] = []
    for scalars, vectors in zip(ask.voters[scalar], ask.voters[vector], strict=True):
        forms: dict[str, list[Any]] = {}
        for position, impls in enumerate((vectors, scalars)):
            for impl, plugin in impls:
                forms.setdefault(impl.plugin, [None, None, plugin])[position] = impl
        for name in sorted(forms, key=ask.position.__getitem__):
            vector_impl, scalar_impl, plugin = forms[name]
            method = getattr(plugin, vector if vector_impl is not None else scalar, None)
            voters.append(
                kind(scalar, plugin, vector_impl, scalar_impl, _scope(plugin, method), recording)
            )
    return voters


def _scope(plugin: Plugin, method: Any) -> Callable[[Task], Scope]:
    declared = getattr(method, SCOPE_ATTRIBUTE, "cluster")
    if callable(declared):
        return lambda task: cast(Scope, declared(plugin, task))
    return lambda task: cast(Scope, declared)
