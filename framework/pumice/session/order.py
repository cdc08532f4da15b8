"""Orders of queues, jobs, tasks and victims: the plugins' comparisons, then tie-breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any

from pumice.errors import PluginError
from pumice.model.facts import Queue
from pumice.model.job import Job, SubJob
from pumice.model.task import Task
from pumice.session.claimant_heap import ClaimantHeap
from pumice.session.heap import KeyHeap, LiveHeap
from pumice.session.order_keys import (
    JobRanks,
    VictimQueues,
    key_functions,
    queue_key,
)

if TYPE_CHECKING:
    from pumice.session.dispatch import Dispatch

JobHeap = LiveHeap[Job] | KeyHeap[Job] | ClaimantHeap
"""A heap of jobs: by keys where all orders have keys, else by live comparisons."""


class Order:
    """The orders of one session. ``…_before(l, r)`` is whether l goes before r."""

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
        self._journal: list[Job] = [] if journal is None else journal
        self._ranks = JobRanks(self.job_key, self._journal)
        self._job_keys = key_functions(ask, "job_order", on_error) if by_keys else None
        self._task_keys = key_functions(ask, "task_order", on_error) if by_keys else None
        self._plain_keys: dict[str, tuple[Any, ...]] = {}
        """By task uid: KAI's key: the plugins' keys, creation time, uid."""
        self._indexed_keys: dict[str, tuple[Any, ...] | None] = {}
        """Volcano's: with the index at the end of the name, where it has one."""
        self.queue_key = queue_key(ask, on_error) if by_keys and journal is not None else None
        """``queue_order_key`` of the one plugin that orders queues; None: they must be compared."""
        self._victim_queues = (
            VictimQueues(self, journal) if by_keys and journal is not None else None
        )

    # -- queues

    def queue_before(self, left: Queue, right: Queue) -> bool:
        """Whether the left queue is served first."""
        answer = self._ask.queue_order(left, right, None, None, (), ())
        if answer:
            return answer < 0
        return (left.created, left.name) < (right.created, right.name)

    def fair_queue_before(
        self,
        left: Queue,
        right: Queue,
        left_job: Job | None,
        right_job: Job | None,
        left_victims: Sequence[Job],
        right_victims: Sequence[Job],
    ) -> bool:
        """As :meth:`queue_before`, given the jobs that the queues would place or lose next."""
        answer = self._ask.queue_order(
            left, right, left_job, right_job, left_victims, right_victims
        )
        if answer:
            return answer < 0
        return (left.created, left.name) < (right.created, right.name)

    def victim_queue_before(self, left: Queue, right: Queue, preemptor_queue: Queue) -> bool:
        """Whether victims come from the left queue first."""
        answer = self._ask.victim_queue_order(left, right, preemptor_queue)
        return answer < 0 if answer else not self.queue_before(left, right)

    def queue_heap(self, queues: Iterable[Queue] = ()) -> LiveHeap[Queue]:
        """The queues as a heap, the one to serve first on top."""
        return LiveHeap(self.queue_before, queues)

    # -- jobs

    def job_before(self, left: Job, right: Job) -> bool:
        """Whether the left job is served first."""
        answer = self._ask.job_order(left, right)
        if answer:
            return answer < 0
        return (left.created, left.uid) < (right.created, right.uid)

    @property
    def has_job_keys(self) -> bool:
        """Whether every plugin that orders jobs gives a key."""
        return self._job_keys is not None

    def job_key(self, job: Job) -> tuple[Any, ...]:
        """A job's sort key, where :attr:`has_job_keys`."""
        return (*[key(job) for key in self._job_keys or ()], job.created, job.uid)

    def job_rank(self, job: Job) -> tuple[Any, ...]:
        """The key of a job of the session, cached until one of its tasks changes its status."""
        rank: tuple[Any, ...] = self._ranks.of(job)
        return rank

    def job_heap(self, jobs: Iterable[Job] = (), *, evicting: bool = False) -> JobHeap:
        """Jobs of a queue, the first to serve on top.

        ``evicting``: jobs may lose tasks while they are in the heap, which changes their order.
        """
        if self._job_keys is None:
            return LiveHeap(self.job_before, jobs)
        if evicting:
            return ClaimantHeap(self._ranks, self._journal, jobs)
        return KeyHeap(self.job_key, jobs)

    # -- sub-jobs

    def sub_job_before(self, left: SubJob, right: SubJob) -> bool:
        """Whether the left sub-job is served first."""
        answer = self._ask.sub_job_order(left, right)
        if answer:
            return answer < 0
        return (left.match_index, left.uid) < (right.match_index, right.uid)

    # -- tasks

    def task_before(self, left: Task, right: Task) -> bool:
        """Whether the left task is placed first."""
        answer = self._ask.task_order(left, right)
        return answer < 0 if answer else default_task_before(left, right)

    @property
    def has_task_keys(self) -> bool:
        """Whether every plugin that orders tasks gives a key."""
        return self._task_keys is not None

    def task_key(self, task: Task) -> tuple[Any, ...]:
        """A task's sort key in KAI's order, where :attr:`has_task_keys`."""
        # Constant during a cycle, as the other one.
        key = self._plain_keys.get(task.uid)
        if key is None:
            keys = self._asked_keys(task)
            key = self._plain_keys[task.uid] = (*keys, task.created, task.uid)
        return key

    def _asked_keys(self, task: Task) -> list[Any]:
        return [key(task) for key in self._task_keys or ()]

    def _indexed_key(self, task: Task) -> tuple[Any, ...] | None:
        """The key with the index at the end of the name; None: the name has none."""
        uid = task.uid
        if uid in self._indexed_keys:
            return self._indexed_keys[uid]
        index = task_index(task.name)
        key = None
        if index is not None:
            key = (*self._asked_keys(task), index, task.created, uid)
        self._indexed_keys[uid] = key
        return key

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
        known, indexed_key = self._indexed_keys, self._indexed_key
        indexed = 0
        for task in tasks:
            key = known[task.uid] if task.uid in known else indexed_key(task)
            if key is not None:
                indexed += 1
        if indexed == len(tasks):
            return lambda task: known[task.uid]
        return None if indexed else self.task_key

    def _task_before_by_keys(self, left: Task, right: Task) -> bool:
        """The same as :meth:`task_before`, where :attr:`has_task_keys`."""
        l_key, r_key = self._indexed_key(left), self._indexed_key(right)
        if l_key is not None and r_key is not None:
            return l_key < r_key
        return self.task_key(left) < self.task_key(right)

    # -- victims

    def victim_heap(
        self, victims: Iterable[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> LiveHeap[Task]:
        """Victims, the first to evict on top: the task served last of the job served last."""

        has_job_keys = self._job_keys is not None
        task_before = self.task_before if self._task_keys is None else self._task_before_by_keys

        def later(left: Job, right: Job, l_task: Task, r_task: Task) -> bool:
            if has_job_keys:
                l_rank, r_rank = self.job_rank(left)[:-2], self.job_rank(right)[:-2]
                if l_rank != r_rank:
                    return bool(r_rank < l_rank)
            else:
                answer = self._ask.job_order(left, right)
                if answer:
                    return answer > 0
            return not task_before(l_task, r_task)

        def before(left: Task, right: Task) -> bool:
            l_job, r_job = left.job, right.job
            if l_job is r_job:
                return not task_before(left, right)
            if l_job is None or r_job is None:
                return l_job is None
            claimant = preemptor.job
            if claimant is not None and l_job.queue != r_job.queue:
                return queue_before(
                    queues[l_job.queue], queues[r_job.queue], queues[claimant.queue]
                )
            return later(l_job, r_job, left, right)

        cached = self._victim_queues
        queue_before = self.victim_queue_before if cached is None else cached.before
        return LiveHeap(before, victims)

    def evicted_in_order(
        self, victims: Iterable[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> Iterator[Task]:
        """Victims as :meth:`victim_heap` gives them; each is evicted before the next is taken.

        An eviction may change the order of the others, but not where all are of different jobs of
        one queue: these are sorted once.
        """
        victims = list(victims)
        if len(victims) < 2:
            yield from victims
            return
        if len({id(task.job) for task in victims}) == len(victims):
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
        """Victims in the order in which :meth:`victim_heap` gives them now."""
        victims = list(victims)
        if len(victims) < 2:
            return victims
        key = self._victim_key(victims)
        if key is not None:
            return sorted(victims, key=key, reverse=True)
        by_queue = self._victims_by_queue(victims, preemptor, queues)
        if by_queue is not None:
            return by_queue
        heap = self.victim_heap(victims, preemptor, queues)
        return [heap.pop() for _ in victims]

    def _victims_by_queue(
        self, victims: Sequence[Task], preemptor: Task, queues: dict[str, Queue]
    ) -> list[Task] | None:
        """Victims of a few queues in order; None: they must be compared two by two."""
        cached = self._victim_queues
        if cached is None or preemptor.job is None:
            return None
        by_queue: dict[str, list[Task]] = {}
        for task in victims:
            if task.job is None:
                return None
            by_queue.setdefault(task.job.queue, []).append(task)
        names = cached.in_order([queues[name] for name in by_queue], queues[preemptor.queue])
        if names is None:
            return None
        ordered: list[Task] = []
        for name in names:
            tasks = by_queue[name]
            if len(tasks) > 1:
                key = self._victim_key(tasks)
                if key is None:
                    return None
                tasks.sort(key=key, reverse=True)
            ordered += tasks
        return ordered

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
        # Without the tie-break of jobs: victims of equal jobs are sorted by task.
        of_job = {uid: self.job_rank(job)[:-2] for uid, job in jobs.items()}
        return lambda task: (of_job[task.job.uid], task_key(task))  # type: ignore[union-attr]


def task_index(name: str) -> int | None:
    """The number at the end of a pod's name, where the name has at least three parts."""
    start, _, end = name.rpartition("-")
    if "-" not in start:
        return None
    try:
        return int(end)
    except ValueError:
        return None


def default_task_before(left: Task, right: Task) -> bool:
    """Volcano's order of tasks that no plugin orders: by index in the name, age, uid."""
    l_index, r_index = task_index(left.name), task_index(right.name)
    if l_index is not None and r_index is not None and l_index != r_index:
        return l_index < r_index
    return (left.created, left.uid) < (right.created, right.uid)
