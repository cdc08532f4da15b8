"""Bundles of victims: a job's surplus above its minimum, or the rest, which stops the job."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cmp_to_key
from typing import NamedTuple

import numpy as np

from pumice import EvictionContext, Job, Session, SubJob, Task
from pumice.gang import counts_roles, is_ready_task

Precedes = Callable[[Job, Job], bool]
"""Whether the left job loses its tasks before the right one."""


class VictimOrder(NamedTuple):
    """Which jobs lose their tasks first."""

    precedes: Precedes
    positions: Callable[[Iterable[Job]], Mapping[str, int] | None] = lambda jobs: None
    """The same for many jobs, by uid, the lowest first; None: compare them two by two."""


class Bundle:
    """Tasks of one job that are evicted together."""

    __slots__ = ("_benefit", "job", "tasks", "whole")

    def __init__(self, job: Job, tasks: list[Task], *, whole: bool) -> None:
        self.job = job
        self.tasks = tasks
        self.whole = whole
        """Whether the eviction takes the job below its minimum, so that all of it is lost."""
        self._benefit: dict[bytes, float] = {}

    def benefit(self, request: np.ndarray) -> float:
        """Volcano's ROI: the share of the request that is freed, per share of it that is lost."""
        if not self.whole:
            return math.inf
        key = request.tobytes()
        benefit = self._benefit.get(key)
        if benefit is None:
            benefit = self._benefit[key] = self._compute_benefit(request)
        return benefit

    def _compute_benefit(self, request: np.ndarray) -> float:
        dimensions = request > 0
        wanted = request[dimensions].astype(float)
        lost = float((self.job.total_request[dimensions] / wanted).sum())
        freed = sum((task.vector for task in self.tasks), np.zeros_like(request))[dimensions]
        return float((np.minimum(freed, wanted) / wanted).sum()) / lost if lost else math.inf


def select_bundles(
    session: Session,
    context: EvictionContext,
    bundles: Iterable[Bundle],
    request: np.ndarray,
    order: VictimOrder,
    *,
    allow_whole: bool,
) -> list[Bundle]:
    """The bundles that plugins allow, in eviction order."""
    bundles = in_order(bundles, request, order)
    flat = [task for bundle in bundles for task in bundle.tasks]
    assert context.job is not None
    candidates = session.evictions.evictable(context.job, flat)
    named = session.ask.unified_evictable(context, candidates) if candidates else ()
    allowed = {task.uid for task in named}
    if allow_whole and all(task.uid in allowed for task in flat):
        return bundles
    trimmed = []
    for bundle in bundles:
        tasks = [task for task in bundle.tasks if task.uid in allowed]
        if bundle.whole and (not allow_whole or len(tasks) < len(bundle.tasks)):
            continue
        if tasks:
            trimmed.append(Bundle(bundle.job, tasks, whole=bundle.whole))
    return in_order(trimmed, request, order)


def in_order(bundles: Iterable[Bundle], request: np.ndarray, order: VictimOrder) -> list[Bundle]:
    """Surplus first, then by victim order, then the largest benefit first, then by name."""
    bundles = list(bundles)
    position = order.positions(bundle.job for bundle in bundles)
    if position is not None and len(set(position.values())) == len(position):
        return sorted(bundles, key=lambda b: (b.whole, position[b.job.uid]))
    keys = {id(bundle): _tie_break(bundle, request) for bundle in bundles}
    if position is not None:
        return sorted(bundles, key=lambda b: (b.whole, position[b.job.uid], keys[id(b)]))
    precedes = order.precedes

    def compare(left: Bundle, right: Bundle) -> int:
        if left.whole != right.whole:
            return 1 if left.whole else -1
        if left.job is not right.job:
            first, second = precedes(left.job, right.job), precedes(right.job, left.job)
            if first != second:
                return -1 if first else 1
        left_key, right_key = keys[id(left)], keys[id(right)]
        return (left_key > right_key) - (left_key < right_key)

    return sorted(bundles, key=cmp_to_key(compare))


def total_order(jobs: Sequence[Job], precedes: Precedes) -> list[Job] | None:
    """The jobs in the one order that agrees with every comparison; None: there is none.

    The comparisons are a total order if of two jobs exactly one precedes the other, and no two
    jobs precede the same number of jobs.
    """
    by_followers: dict[int, Job] = {}
    for job in jobs:
        followers = 0
        for other in jobs:
            if other is not job:
                first = precedes(job, other)
                if first == precedes(other, job):
                    return None
                followers += first
        by_followers[followers] = job
    if len(by_followers) < len(jobs):
        return None
    return [by_followers[count] for count in sorted(by_followers, reverse=True)]


def _tie_break(bundle: Bundle, request: np.ndarray) -> tuple[float, str, str, int]:
    return -bundle.benefit(request), bundle.job.uid, bundle.tasks[0].uid, len(bundle.tasks)


def make_bundles(tasks: Sequence[Task]) -> list[Bundle]:
    """Split tasks of one job into its surplus and the rest; low priorities go into the surplus."""
    job = tasks[0].job
    assert job is not None
    ordered = sorted(tasks, key=lambda task: (task.priority, task.uid))
    if job.ready_count < job.min_available:
        # Volcano counts every task of a job below its minimum as surplus.
        return [Bundle(job, ordered, whole=False)]
    surplus = _Surplus(job)
    surplus_tasks: list[Task] = []
    rest: list[Task] = []
    for task in ordered:
        (surplus_tasks if surplus.take(task) else rest).append(task)
    bundles = [Bundle(job, surplus_tasks, whole=False), Bundle(job, rest, whole=True)]
    return [bundle for bundle in bundles if bundle.tasks]


class _Surplus:
    """How far a job, its roles and its sub-job groups are above their minimums."""

    def __init__(self, job: Job) -> None:
        self._left = job.ready_count - job.min_available
        self._roles: dict[str, int] = {}
        if counts_roles(job):
            ready = Counter(task.role for task in job.tasks.values() if is_ready_task(task))
            self._roles = {role: ready[role] - low for role, low in job.role_min.items()}
        self._groups: dict[str, int] = {}
        self._broken: set[str] = set()
        if job.min_sub_jobs:
            ready_groups = Counter(s.group_id for s in job.sub_jobs.values() if s.is_ready())
            self._groups = {g: ready_groups[g] - low for g, low in job.min_sub_jobs.items()}
            self._broken = {s.uid for s in job.sub_jobs.values() if not s.is_ready()}

    def take(self, task: Task) -> bool:
        """Whether the job can spare the task; if so, it is taken off the surplus."""
        sub_job = task.sub_job
        if (
            self._left <= 0
            or self._roles.get(task.role, 1) <= 0
            or sub_job is None
            or not self._can_break(sub_job)
        ):
            return False
        self._left -= 1
        if task.role in self._roles:
            self._roles[task.role] -= 1
        if sub_job.group_id in self._groups and sub_job.uid not in self._broken:
            self._groups[sub_job.group_id] -= 1
            self._broken.add(sub_job.uid)
        return True

    def _can_break(self, sub_job: SubJob) -> bool:
        return sub_job.uid in self._broken or self._groups.get(sub_job.group_id, 1) > 0
