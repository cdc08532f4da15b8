"""Classes of tasks that get the same answers about nodes, with a cache for each."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pumice.combine import Impl, fail
from pumice.errors import InvariantError
from pumice.model.task import Task
from pumice.plugin import Plugin, Scope
from pumice.session.nodes.class_cache import ClassCache
from pumice.session.nodes.voters import FilterVoter, ScoreVoter

if TYPE_CHECKING:
    from pumice.session.session import Session

_COMPARED = (
    "missing_dimension",
    "idle_fits",
    "codes",
    "reasons",
    "scores",
    "totals",
    "idle_scores",
    "future_scores",
    "future_totals",
)


class TaskClass(NamedTuple):
    """The cache of one class of tasks, and the filters and scorers that cannot be cached."""

    cache: ClassCache
    live_filters: list[FilterVoter]
    live_scorers: list[ScoreVoter]
    by_rank: bool
    """Whether the best score among the nodes that pass is the best choice.

    It is not where scores depend on which nodes pass, or a filter's answer on which nodes it is
    asked about. A filter that the ledger records is asked about all nodes, for the record.
    """


class TaskClasses:
    """Assigns tasks to classes and updates the caches of the classes."""

    def __init__(
        self,
        session: Session,
        preparing: Sequence[tuple[Impl, Plugin]],
        filters: Sequence[FilterVoter],
        scorers: Sequence[ScoreVoter],
        *,
        verify: bool,
    ) -> None:
        self._nodes = session.nodes
        self._filters = filters
        self._scorers = scorers
        self._verify = verify
        self._caches = session.uses("node_cache")
        self._numbers: dict[Hashable, int] = {}
        self._classes: dict[tuple[int, tuple[str, ...]], TaskClass] = {}
        asked = {voter.plugin: voter.impl for voter in (*filters, *scorers)}
        asked |= {plugin: impl for impl, plugin in preparing if plugin not in asked}
        self._asked = asked
        self._reads = tuple(sorted({name for plugin in asked for name in plugin.reads}))
        self._class_keys = [
            plugin.class_key for plugin in asked if type(plugin).class_key is not Plugin.class_key
        ]

    def number(self, task: Task) -> int:
        """The number of the task's class; stored in the task."""
        try:
            key: list[Hashable] = [
                task.vector.tobytes(),
                task.gpu if task.gpu.any else None,
                task.best_effort,
                task.compared,
                task.constraints,
            ]
            for name in self._reads:
                key.append(_hashable(getattr(task, name)))
            for class_key in self._class_keys:
                key.append(class_key(task))
            number = task.class_id = self._numbers.setdefault(tuple(key), len(self._numbers))
        except BaseException:
            self._find_faulty_key(task)
            raise
        return number

    def _find_faulty_key(self, task: Task) -> None:
        for plugin, impl in self._asked.items():
            try:
                hash(plugin.class_key(task))
            except BaseException as exc:
                fail("class_key", impl, exc, (task,))
            try:
                hash(tuple(_hashable(getattr(task, name)) for name in plugin.reads))
            except BaseException as exc:
                fail("reads", impl, exc, (task,))

    def of(self, task: Task, skipped: tuple[str, ...], *, scored: bool = False) -> TaskClass:
        """The task's class, as the nodes are now, without the filters of ``skipped``.

        ``scored``: scores will be asked for.
        """
        number = task.class_id
        key = (self.number(task) if number < 0 else number, skipped)
        found = self._classes.get(key) if self._caches else None
        if found is None:
            found = self._classes[key] = self._make(task, skipped)
        elif scored and not found.live_scorers:
            found.cache.refresh_with_scores(task)
        else:
            found.cache.refresh(task)
        if self._verify:
            self._compare(task, found, skipped)
        return found

    def _make(self, task: Task, skipped: tuple[str, ...]) -> TaskClass:
        filters = [(v, self._reach(v, task)) for v in self._filters if v.name not in skipped]
        scorers = [(v, self._reach(v, task)) for v in self._scorers]
        # Filters are combined in policy order, so only those before the first of scope "cluster"
        # can be cached together.
        scopes = [scope for _, scope in filters]
        first_live = scopes.index("cluster") if "cluster" in scopes else len(scopes)
        cache = ClassCache(
            task,
            self._nodes,
            filters[:first_live],
            scorers,
            rejected=self._rejected(task, filters) if self._caches else None,
            one_by_one=self._caches,
        )
        live_filters = [voter for voter, _ in filters[first_live:]]
        live_scorers = [voter for voter, scope in scorers if scope == "cluster"]
        by_rank = not live_scorers and not cache.span_scorers
        by_rank = by_rank and all(v.scalar is not None and v.ledger is None for v in live_filters)
        return TaskClass(cache, live_filters, live_scorers, by_rank)

    def _rejected(
        self, task: Task, filters: Sequence[tuple[FilterVoter, Scope]]
    ) -> np.ndarray | None:
        """Mask: the nodes that some filter rejects for the whole cycle; None: none is known."""
        masks = [voter.static_rejections(task, len(self._nodes)) for voter, _ in filters]
        known = [mask for mask in masks if mask is not None and mask.any()]
        return np.logical_or.reduce(known) if known else None

    def _reach(self, voter: FilterVoter | ScoreVoter, task: Task) -> Scope:
        scope = voter.reach(task)
        if scope == "span" and not self._caches:
            return "cluster"
        return "row" if scope == "static" and not self._caches else scope

    def _compare(self, task: Task, found: TaskClass, skipped: tuple[str, ...]) -> None:
        fresh = self._make(task, skipped).cache
        for cache in (found.cache, fresh):
            cache.refresh_totals(task)
        for name in _COMPARED:
            old, new = getattr(found.cache, name), getattr(fresh, name)
            if not np.array_equal(old, new, equal_nan=True):
                row = int(np.flatnonzero(old != new)[0])
                raise InvariantError(
                    f"cached {name} of task {task.key} on node {self._nodes.names[row]} is "
                    f"{old[row]}, asked again it is {new[row]}",
                    hint="a plugin's scope reaches further than it declares, or its scalar and "
                    "vector forms disagree",
                )
        self._check_rejected(task, found.cache, skipped)

    def _check_rejected(self, task: Task, cache: ClassCache, skipped: tuple[str, ...]) -> None:
        """Every node that is said to be rejected for the whole cycle is rejected now."""
        rows = np.flatnonzero(cache.rejected) if cache.rejected is not None else np.array([], int)
        for voter in self._filters if len(rows) else ():
            verdicts = None if voter.name in skipped else voter.many(task, self._nodes, rows)
            if verdicts is not None:
                rows = rows[verdicts.codes == 0]
        if len(rows):
            raise InvariantError(
                f"no filter rejects task {task.key} on node {self._nodes.names[int(rows[0])]}",
                hint="static_rejections of a plugin rejects more than its predicate",
            )


def _hashable(value: Any) -> Hashable:
    if type(value) is str:
        return value
    if isinstance(value, Mapping):
        return tuple(sorted(value.items()))
    uid: Hashable = getattr(value, "uid", value)
    return uid
