"""Victims of gang evictions in bundles: a job's surplus, or what takes the whole job down."""

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
"""Whether the left job gives up its tasks before the right one."""


class VictimOrder(NamedTuple):
    """Whose tasks go first."""

    precedes: Precedes
    positions: Callable[[Iterable[Job]], Mapping[str, int] | None] = lambda jobs: None
    """The same for many jobs, by uid: the lower goes first; None: they can only be compared."""


class Bundle:
    """Tasks of one job that are evicted together."""

    __slots__ = ("_worth", "job", "tasks", "whole")

    def __init__(self, job: Job, tasks: list[Task], *, whole: bool) -> None:
        self.job = job
        self.tasks = tasks
        self.whole = whole
        """Whether the job falls below its minimum by this, so that all of it is lost."""
        self._worth: dict[bytes, float] = {}

    def worth(self, need: np.ndarray) -> float:
        """What the eviction gives of the need, per what the cluster loses by it."""
        if not self.whole:
            return math.inf
        key = need.tobytes()
        known = self._worth.get(key)
        if known is None:
            known = self._worth[key] = self._work_out(need)
        return known

    def _work_out(self, need: np.ndarray) -> float:
        asked = need > 0
        wanted = need[asked].astype(float)
        lost = float((self.job.total_request[asked] / wanted).sum())
        gained = sum((task.vector for task in self.tasks), np.zeros_like(need))[asked]
        return float((np.minimum(gained, wanted) / wanted).sum()) / lost if lost else math.inf


def select_bundles(
    session: Session,
    context: EvictionContext,
    bundles: Iterable[Bundle],
    need: np.ndarray,
    turns: VictimOrder,
    *,
    allow_whole: bool,
) -> list[Bundle]:
    """The bundles that plugins allow, in the order in which they are to be evicted."""
    bundles = in_order(bundles, need, turns)
    flat = [task for bundle in bundles for task in bundle.tasks]
    allowed = {task.uid for task in session.ask.unified_evictable(context, flat)} if flat else set()
    if allow_whole and all(task.uid in allowed for task in flat):
        return bundles
    trimmed = []
    for bundle in bundles:
        tasks = [task for task in bundle.tasks if task.uid in allowed]
        if bundle.whole and (not allow_whole or len(tasks) < len(bundle.tasks)):
            continue
        if tasks:
            trimmed.append(Bundle(bundle.job, tasks, whole=bundle.whole))
    return in_order(trimmed, need, turns)


def in_order(bundles: Iterable[Bundle], need: np.ndarray, turns: VictimOrder) -> list[Bundle]:
    """Surplus first, then the jobs that give up first, then the most worth; then by name."""

    bundles = list(bundles)
    position = turns.positions(bundle.job for bundle in bundles)
    if position is not None and len(set(position.values())) == len(position):
        return sorted(bundles, key=lambda b: (b.whole, position[b.job.uid]))
    keys = {id(bundle): _tie_break(bundle, need) for bundle in bundles}
    if position is not None:
        return sorted(bundles, key=lambda b: (b.whole, position[b.job.uid], keys[id(b)]))
    precedes = turns.precedes

    def compare(left: Bundle, right: Bundle) -> int:
        if left.whole != right.whole:
            return 1 if left.whole else -1
        if left.job is not right.job:
            first, second = precedes(left.job, right.job), precedes(right.job, left.job)
            if first != second:
                return -1 if first else 1
        l_key, r_key = keys[id(left)], keys[id(right)]
        return (l_key > r_key) - (l_key < r_key)

    return sorted(bundles, key=cmp_to_key(compare))


def in_turn(jobs: Sequence[Job], precedes: Precedes) -> list[Job] | None:
    """The jobs in the one order that agrees with every comparison; None: there is none.

    Of two jobs exactly one precedes the other, and each precedes another number of them.
    """
    behind: dict[int, Job] = {}
    for job in jobs:
        ahead_of = 0
        for other in jobs:
            if other is not job:
                first = precedes(job, other)
                if first == precedes(other, job):
                    return None
                ahead_of += first
        behind[ahead_of] = job
    if len(behind) < len(jobs):
        return None
    return [behind[count] for count in sorted(behind, reverse=True)]


def _tie_break(bundle: Bundle, need: np.ndarray) -> tuple[float, str, str, int]:
    return -bundle.worth(need), bundle.job.uid, bundle.tasks[0].uid, len(bundle.tasks)


def make_bundles(tasks: Sequence[Task]) -> list[Bundle]:
    """Split tasks of one job into its surplus and the rest, the lowest priority first."""
    job = tasks[0].job
    assert job is not None
    ordered = sorted(tasks, key=lambda task: (task.priority, task.uid))
    if job.ready_count < job.min_available:
        return [Bundle(job, ordered, whole=False)]
    surplus = _Surplus(job)
    spare: list[Task] = []
    rest: list[Task] = []
    for task in ordered:
        (spare if surplus.take(task) else rest).append(task)
    bundles = [Bundle(job, spare, whole=False), Bundle(job, rest, whole=True)]
    return [bundle for bundle in bundles if bundle.tasks]


class _Surplus:
    """How far a job, its roles and its groups of sub-jobs are above their minimums."""

    def __init__(self, job: Job) -> None:
        self._left = job.ready_count - job.min_available
        self._roles: dict[str, int] = {}
        if counts_roles(job):
            ready = Counter(task.role for task in job.tasks.values() if is_ready_task(task))
            self._roles = {role: ready[role] - low for role, low in job.role_min.items()}
        self._groups: dict[str, int] = {}
        self._broken: set[str] = set()
        if job.min_sub_jobs:
            whole = Counter(s.group_id for s in job.sub_jobs.values() if s.is_ready())
            self._groups = {group: whole[group] - low for group, low in job.min_sub_jobs.items()}
            self._broken = {s.uid for s in job.sub_jobs.values() if not s.is_ready()}

    def take(self, task: Task) -> bool:
        """Whether the job can spare the task, too; then it counts as taken."""
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
