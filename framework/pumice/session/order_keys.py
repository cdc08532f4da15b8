"""Sort keys of jobs and tasks, where every plugin that orders gives one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pumice.combine import Impl, plugin_error
from pumice.errors import PluginError
from pumice.model.cursors import JobCursor
from pumice.model.job import Job
from pumice.session.answer_checks import sort_key

if TYPE_CHECKING:
    from pumice.model.facts import Queue
    from pumice.session.dispatch import Dispatch
    from pumice.session.order import Order


_FEW_QUEUES = 8
"""Up to so many queues are compared with each other before their tasks are sorted."""


class JobRanks:
    """Keys of jobs in the job order, cached until a task of the job changes its status."""

    __slots__ = ("_cached", "_changes", "_journal", "_key", "_seen")

    def __init__(self, key: Callable[[Job], Any], journal: list[Job]) -> None:
        self._key = key
        self._journal = journal
        self._changes = JobCursor(journal)
        self._seen = len(journal)
        self._cached: dict[str, Any] = {}

    def before(self, left: Job, right: Job) -> bool:
        if len(self._journal) == self._seen:  # heaps of hundreds of jobs ask this all the time
            cached = self._cached
            l_rank, r_rank = cached.get(left.uid), cached.get(right.uid)
            if l_rank is not None and r_rank is not None:
                return bool(l_rank < r_rank)
        return bool(self.of(left) < self.of(right))

    def of(self, job: Job) -> Any:
        if len(self._journal) != self._seen:
            for changed in self._changes.changed():
                self._cached.pop(changed.uid, None)
            self._seen = len(self._journal)
        rank = self._cached.get(job.uid)
        if rank is None:
            rank = self._cached[job.uid] = self._key(job)
        return rank


class VictimQueues:
    """Which queue loses tasks first, cached until a task changes its status."""

    __slots__ = ("_cached", "_journal", "_order", "_position")

    def __init__(self, order: Order, journal: list[Job]) -> None:
        self._order = order
        self._journal = journal
        self._position = -1
        self._cached: dict[tuple[str, str, str], bool] = {}

    def before(self, left: Queue, right: Queue, preemptor_queue: Queue) -> bool:
        if self._position != len(self._journal):
            self._position = len(self._journal)
            self._cached.clear()
        key = (left.name, right.name, preemptor_queue.name)
        answer = self._cached.get(key)
        if answer is None:
            answer = self._order.victim_queue_before(left, right, preemptor_queue)
            self._cached[key] = answer
            if left is not right:
                self._cached[right.name, left.name, preemptor_queue.name] = not answer
        return answer

    def in_order(self, queues: list[Queue], preemptor_queue: Queue) -> list[str] | None:
        """The names of queues, the first to lose tasks first; None: that is no total order.

        It is none where shares are compared below different ancestors: A before B and B before C
        does not always mean A before C.
        """
        if len(queues) > _FEW_QUEUES:
            return None
        before = self.before
        ordered: list[Queue] = []
        for queue in queues:
            place = 0
            while place < len(ordered) and before(ordered[place], queue, preemptor_queue):
                place += 1
            ordered.insert(place, queue)
        for place, queue in enumerate(ordered):
            for later in ordered[place + 1 :]:
                if not before(queue, later, preemptor_queue):
                    return None
        return [queue.name for queue in ordered]


class _Abstain:
    """A key that is equal to every other, so that the next plugin's key decides."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __lt__


_ABSTAIN = _Abstain()
_PLAIN = frozenset({bool, int, float, str})
"""Types of keys that can be compared with every other of their type, NaN excepted."""


def key_functions(
    ask: Dispatch, point: str, on_error: Callable[[PluginError], None]
) -> list[Callable[[Any], Any]] | None:
    """The key functions of all plugins that order, in policy order; None: one has no key."""
    form = f"{point}_key"
    keys = {impl.plugin: impl for tier in ask.voters[form] for impl, _ in tier}
    comparing = [impl.plugin for tier in ask.voters[point] for impl, _ in tier]
    if any(plugin not in keys for plugin in comparing):
        return None
    return [_abstaining(form, keys[plugin], on_error) for plugin in comparing]


def _abstaining(
    form: str, impl: Impl, on_error: Callable[[PluginError], None]
) -> Callable[[Any], Any]:
    """A key function that abstains where the plugin answers None or raises."""
    fn = impl.fn
    first: Any = None
    plain: Any = None  # the type of the keys, where all of that type can be compared

    def key(item: Any) -> Any:
        nonlocal first, plain
        try:
            answer = fn(item)
            if type(answer) is plain and answer == answer:
                return answer
            if answer is None:
                return _ABSTAIN
            if first is None:
                first = sort_key(answer, answer)
                plain = type(answer) if type(answer) in _PLAIN else None
            return sort_key(answer, first)
        except BaseException as exc:
            on_error(plugin_error(form, impl, exc, (item,)))
            return _ABSTAIN

    return key


def queue_key(
    ask: Dispatch, on_error: Callable[[PluginError], None]
) -> Callable[[Queue, Job | None], Any] | None:
    """The key function of the plugin that orders queues; None: there are several, or it has none.

    The function answers None where the plugin abstains or raises.
    """
    form = "queue_order_key"
    keys = [impl for tier in ask.voters[form] for impl, _ in tier]
    comparing = [impl.plugin for tier in ask.voters["queue_order"] for impl, _ in tier]
    if len(comparing) != 1 or [impl.plugin for impl in keys] != comparing:
        return None
    (impl,) = keys
    fn = impl.fn
    first: Any = None

    def key(queue: Queue, job: Job | None) -> Any:
        nonlocal first
        try:
            answer = fn(queue, job)
            if answer is not None:
                answer = sort_key(answer, answer if first is None else first)
                first = answer if first is None else first
        except BaseException as exc:
            on_error(plugin_error(form, impl, exc, (queue, job)))
            return None
        return answer

    return key
