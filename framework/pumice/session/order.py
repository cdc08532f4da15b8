"""Orders: the plugins' comparisons with the tie-breaks that the actions bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, NamedTuple

from pumice.combine import Impl, plugin_error
from pumice.errors import PluginError
from pumice.model.cursors import JobCursor
from pumice.model.facts import Queue
from pumice.model.job import Job, SubJob
from pumice.model.task import Task
from pumice.session.heap import KeyHeap, LiveHeap

if TYPE_CHECKING:
    from pumice.session.dispatch import Dispatch

JobHeap = LiveHeap[Job] | KeyHeap[Job]


class Order:
    """Who goes first in this session. ``…_before(l, r)`` tells whether l goes before r."""

    def __init__(
        self,
        ask: Dispatch,
        on_error: Callable[[PluginError], None],
        *,
        journal: list[Job] | None = None,
        by_keys: bool = True,
    ) -> None:
        """``journal`` has every job of which a task changed its status.

        ``by_keys``: jobs and tasks are sorted by keys where every plugin that orders gives one.
        """
        self._ask = ask
        self._ranks = _Ranks(self.job_key, [] if journal is None else journal)
        self._job_keys = _key_functions(ask, "job_order", on_error) if by_keys else None
        self._task_keys = _key_functions(ask, "task_order", on_error) if by_keys else None
        self._places_of: dict[str, _Places] = {}

    # -- queues

    def queue_before(self, left: Queue, right: Queue) -> bool:
        return self.fair_queue_before(left, right, None, None, (), ())

    def fair_queue_before(
        self,
        left: Queue,
        right: Queue,
        left_job: Job | None,
        right_job: Job | None,
        left_victims: Sequence[Job],
        right_victims: Sequence[Job],
    ) -> bool:
        """As :meth:`queue_before`, with the jobs that the queues would give or lose next."""
        answer = self._ask.queue_order(
            left, right, left_job, right_job, left_victims, right_victims
        )
        if answer:
            return answer < 0
        return (left.created, left.name) < (right.created, right.name)

    def victim_queue_before(self, left: Queue, right: Queue, preemptor_queue: Queue) -> bool:
        answer = self._ask.victim_queue_order(left, right, preemptor_queue)
        return answer < 0 if answer else not self.queue_before(left, right)

    def queue_heap(self, queues: Iterable[Queue] = ()) -> LiveHeap[Queue]:
        return LiveHeap(self.queue_before, queues)

    # -- jobs

    def job_before(self, left: Job, right: Job) -> bool:
        answer = self._ask.job_order(left, right)
        if answer:
            return answer < 0
        return (left.created, left.uid) < (right.created, right.uid)

    @property
    def has_job_keys(self) -> bool:
        """Whether every plugin that orders jobs gives a key."""
        return self._job_keys is not None

    def job_key(self, job: Job) -> tuple[Any, ...]:
        """A job's place in the order, where :attr:`has_job_keys`."""
        return (*[key(job) for key in self._job_keys or ()], job.created, job.uid)

    def job_rank(self, job: Job) -> tuple[Any, ...]:
        """The same of a job of the session, remembered until something happens to it."""
        rank: tuple[Any, ...] = self._ranks.of(job)
        return rank

    def job_heap(self, jobs: Iterable[Job] = (), *, evicting: bool = False) -> JobHeap:
        """Jobs of a queue, the first to serve on top.

        ``evicting``: jobs may lose tasks while they wait inside, which changes their order.
        """
        if self._job_keys is None:
            return LiveHeap(self.job_before, jobs)
        return LiveHeap(self._ranks.before, jobs) if evicting else KeyHeap(self.job_key, jobs)

    # -- sub-jobs

    def sub_job_before(self, left: SubJob, right: SubJob) -> bool:
        answer = self._ask.sub_job_order(left, right)
        if answer:
            return answer < 0
        return (left.match_index, left.uid) < (right.match_index, right.uid)

    # -- tasks

    def task_before(self, left: Task, right: Task) -> bool:
        answer = self._ask.task_order(left, right)
        return answer < 0 if answer else default_task_before(left, right)

    @property
    def has_task_keys(self) -> bool:
        """Whether every plugin that orders tasks gives a key."""
        return self._task_keys is not None

    def task_key(self, task: Task) -> tuple[Any, ...]:
        """A task's place in the KAI family's order, where :attr:`has_task_keys`."""
        return self._places(task).plain

    def _places(self, task: Task) -> _Places:
        """A task's places, which stay the same during a cycle."""
        found = self._places_of.get(task.uid)
        if found is None:
            opinions = [key(task) for key in self._task_keys or ()]
            plain, index = (*opinions, task.created, task.uid), task_index(task.name)
            indexed = None if index is None else (*opinions, index, task.created, task.uid)
            found = self._places_of[task.uid] = _Places(plain, indexed)
        return found

    def sorted_tasks(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks of a job, the first to place first."""
        tasks = list(tasks)
        if len(tasks) < 2:
            return tasks
        key = self._task_key(tasks)
        if key is not None:
            return sorted(tasks, key=key)

        def compare(left: Task, right: Task) -> int:
            return -1 if self.task_before(left, right) else 1

        return sorted(tasks, key=cmp_to_key(compare))

    def _task_key(self, tasks: Sequence[Task]) -> Callable[[Task], Any] | None:
        """A key that sorts these tasks as :meth:`task_before` does, where there is one."""
        if self._task_keys is None:
            return None
        indexed = sum(self._places(task).indexed is not None for task in tasks)
        if indexed == len(tasks):
            return lambda task: self._places_of[task.uid].indexed
        return None if indexed else lambda task: self._places_of[task.uid].plain

    # -- victims

    def victim_heap(
        self, victims: Iterable[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> LiveHeap[Task]:
        """Victims, the first to evict on top: of the job and the task served last."""

        def later(left: Job, right: Job, l_task: Task, r_task: Task) -> bool:
            answer = self._ask.job_order(left, right)
            return answer > 0 if answer else not self.task_before(l_task, r_task)

        def before(left: Task, right: Task) -> bool:
            l_job, r_job = left.job, right.job
            if l_job is r_job:
                return not self.task_before(left, right)
            if l_job is None or r_job is None:
                return l_job is None
            claimant = preemptor.job
            if claimant is not None and l_job.queue != r_job.queue:
                return self.victim_queue_before(
                    queues[l_job.queue], queues[r_job.queue], queues[claimant.queue]
                )
            return later(l_job, r_job, left, right)

        return LiveHeap(before, victims)

    def victims_in_turn(
        self, victims: Iterable[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> Iterator[Task]:
        """Victims as :meth:`victim_heap` would give them, each evicted before the next is asked.

        Where they are all of different jobs of one queue, an eviction changes nothing among
        those that are left: they are in the order that they have now.
        """
        victims = list(victims)
        if len(victims) > 1 and len({id(task.job) for task in victims}) == len(victims):
            key = self._victim_key(victims)
            if key is not None:
                yield from sorted(victims, key=key, reverse=True)
                return
        heap = self.victim_heap(victims, preemptor, queues)
        while heap:
            yield heap.pop()

    def sorted_victims(
        self, victims: Iterable[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> list[Task]:
        """Victims in the order in which :meth:`victim_heap` would give them now."""
        victims = list(victims)
        if len(victims) < 2:
            return victims
        key = self._victim_key(victims)
        if key is not None:
            return sorted(victims, key=key, reverse=True)
        heap = self.victim_heap(victims, preemptor, queues)
        return [heap.pop() for _ in victims]

    def _victim_key(self, victims: Sequence[Task]) -> Callable[[Task], Any] | None:
        """A key that sorts victims of one queue in the reverse of their order."""
        jobs = {task.job.uid: task.job for task in victims if task.job is not None}
        if len({job.queue for job in jobs.values()}) > 1 or any(t.job is None for t in victims):
            return None
        task_key = self._task_key(victims)
        if len(jobs) == 1 or task_key is None:
            return task_key
        if self._job_keys is None:
            return None
        # Without the tie-break of jobs: victims of equal jobs go by the order of tasks.
        of_job = {uid: self.job_rank(job)[:-2] for uid, job in jobs.items()}
        return lambda task: (of_job[task.job.uid], task_key(task))  # type: ignore[union-attr]


class _Places(NamedTuple):
    """A task's places in the two orders that know tasks by keys."""

    plain: tuple[Any, ...]
    indexed: tuple[Any, ...] | None
    """With the number at the end of the name, where it has one."""


class _Ranks:
    """Places of jobs in the order, each worked out again once something happened to the job."""

    __slots__ = ("_changes", "_key", "_known")

    def __init__(self, key: Callable[[Job], Any], journal: list[Job]) -> None:
        self._key = key
        self._changes = JobCursor(journal)
        self._known: dict[str, Any] = {}

    def before(self, left: Job, right: Job) -> bool:
        return bool(self.of(left) < self.of(right))

    def of(self, job: Job) -> Any:
        for changed in self._changes.changed():
            self._known.pop(changed.uid, None)
        rank = self._known.get(job.uid)
        if rank is None:
            rank = self._known[job.uid] = self._key(job)
        return rank


def task_index(name: str) -> int | None:
    """The number at the end of a pod's name, where the name has at least three parts."""
    parts = name.split("-")
    if len(parts) < 3:
        return None
    try:
        return int(parts[-1])
    except ValueError:
        return None


def default_task_before(left: Task, right: Task) -> bool:
    """Volcano's order of tasks about which no plugin has an opinion."""
    l_index, r_index = task_index(left.name), task_index(right.name)
    if l_index is not None and r_index is not None and l_index != r_index:
        return l_index < r_index
    return (left.created, left.uid) < (right.created, right.uid)


class _NoOpinion:
    """A key that is equal to every other, so that the next key decides."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False

    __gt__ = __lt__


_NO_OPINION = _NoOpinion()


def _key_functions(
    ask: Dispatch, point: str, on_error: Callable[[PluginError], None]
) -> list[Callable[[Any], Any]] | None:
    """The keys of all plugins that order, in policy order; None when one can only compare."""
    form = f"{point}_key"
    keys = {impl.plugin: impl for tier in ask.voters[form] for impl, _ in tier}
    comparing = [impl.plugin for tier in ask.voters[point] for impl, _ in tier]
    if any(plugin not in keys for plugin in comparing):
        return None
    return [_abstaining(form, keys[plugin], on_error) for plugin in comparing]


def _abstaining(
    form: str, impl: Impl, on_error: Callable[[PluginError], None]
) -> Callable[[Any], Any]:
    """A key function that has no opinion where the plugin answers None or raises."""
    fn = impl.fn

    def key(item: Any) -> Any:
        try:
            answer = fn(item)
        except Exception as exc:
            on_error(plugin_error(form, impl, exc))
            return _NO_OPINION
        return _NO_OPINION if answer is None else answer

    return key
