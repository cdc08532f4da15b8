"""Batches: which tasks of an elastic gang are placed, or evicted, together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cmp_to_key

from pumice.model.gang import active_count, active_tasks, counts_roles
from pumice.model.job import Job, SubJob
from pumice.model.task import ACTIVE_STATUSES, Task, TaskStatus
from pumice.session.dispatch import Dispatch
from pumice.session.order import Order

_S = TaskStatus
_PENDING = _S.PENDING


class TaskBatches:
    """Takes batches of jobs in the session's orders of pod sets and tasks."""

    def __init__(self, ask: Dispatch, order: Order | None = None) -> None:
        """With ``order`` tasks are sorted by keys where it has them, instead of compared."""
        self._ask = ask
        self._key = order.task_key if order is not None and order.has_task_keys else None

    def to_allocate(self, job: Job, *, real: bool) -> list[Task]:
        """The tasks that the gang lacks for its minimum, or one task more.

        In a simulation (not ``real``) tasks that it evicted are candidates, too.
        """
        if len(job.sub_jobs) == 1:
            (only,) = job.sub_jobs.values()
            candidates = _candidates(only, real)
            if len(candidates) < 2:
                return candidates
            return self._best(job, candidates, only.min_available - active_count(only))
        pod_sets = self.sorted_pod_sets(job)
        missing = [p.min_available - active_count(p) for p in pod_sets]
        wanted = max(sum(1 for count in missing if count > 0), 1)
        taken, batch = 0, []
        for pod_set, lacking in zip(pod_sets, missing, strict=True):
            if taken == wanted:
                break
            part = self._best(job, _candidates(pod_set, real), lacking)
            if part:
                batch += part
                taken += 1
        return batch

    def _best(self, job: Job, candidates: list[Task], lacking: int) -> list[Task]:
        """The best candidates of a pod set: as many as it lacks, or one."""
        if len(candidates) < 2:
            return candidates
        return _roles_first(job, self.sorted_tasks(candidates), add=True)[: max(lacking, 1)]

    @staticmethod
    def max_restored(job: Job, evicted: Sequence[Task]) -> int:
        """At most so many of these tasks are in the next batch of the job once they are evicted.

        Some of them may be evicted already.
        """
        if len(evicted) == 1:
            return 1
        counts: dict[str, int] = {}
        active: dict[str, int] = {}  # those that are not evicted yet
        for task in evicted:
            assert task.sub_job is not None
            uid = task.sub_job.uid
            counts[uid] = counts.get(uid, 0) + 1
            if task.status in ACTIVE_STATUSES:
                active[uid] = active.get(uid, 0) + 1
        most = 0
        for uid, count in counts.items():
            pod_set = job.sub_jobs[uid]
            lacking = pod_set.min_available - active_count(pod_set) + active.get(uid, 0)
            most += min(count, max(lacking, 1))
        return most

    def to_evict(self, job: Job) -> tuple[list[Task], bool]:
        """One task above the minimum, or all tasks; and whether the job has more after them."""
        if len(job.tasks) == 1 == len(job.sub_jobs):
            return active_tasks(job), False
        pod_sets = self.sorted_pod_sets(job)[::-1]
        surplus = any(active_count(p) > p.min_available for p in pod_sets)
        batch: list[Task] = []
        for pod_set in pod_sets[: 1 if surplus else len(pod_sets)]:
            active = active_tasks(pod_set)
            if len(active) > 1:
                count = 1 if len(active) > pod_set.min_available else len(active)
                ordered = _roles_first(job, self.sorted_tasks(active), add=False)
                active = ordered[::-1][:count]
            batch += active
        return batch, len(batch) < active_count(job)

    def sorted_pod_sets(self, job: Job) -> list[SubJob]:
        """The pod sets of a job, the one to serve first at the beginning."""
        if len(job.sub_jobs) < 2:
            return list(job.sub_jobs.values())

        def compare(left: SubJob, right: SubJob) -> int:
            answer = self._ask.pod_set_order(left, right)
            return answer or (-1 if (left.name, left.uid) < (right.name, right.uid) else 1)

        return sorted(job.sub_jobs.values(), key=cmp_to_key(compare))

    def sorted_tasks(self, tasks: Sequence[Task]) -> list[Task]:
        """Tasks in order: by the plugins, then the older, then the smaller uid."""
        if len(tasks) < 2:
            return list(tasks)
        if self._key is not None:
            return sorted(tasks, key=self._key)

        def compare(left: Task, right: Task) -> int:
            answer = self._ask.task_order(left, right)
            return answer or (-1 if (left.created, left.uid) < (right.created, right.uid) else 1)

        return sorted(tasks, key=cmp_to_key(compare))


def _roles_first(job: Job, tasks: list[Task], *, add: bool) -> list[Task]:
    """The same order, but first the tasks that the minimums of roles need.

    ``add``: the tasks are placed in addition to those of the job that are active already.
    """
    if not counts_roles(job):
        return tasks
    lacking = Counter(job.role_min)
    if add:
        lacking.subtract(task.role for task in active_tasks(job))
    needed: list[Task] = []
    others: list[Task] = []
    for task in tasks:
        (needed if lacking[task.role] > 0 else others).append(task)
        lacking[task.role] -= 1
    return needed + others


def _candidates(pod_set: SubJob, real: bool) -> list[Task]:
    """The tasks of a pod set that may be placed; in a simulation also those that it evicted."""
    return [
        task
        for task in pod_set.tasks.values()
        if (not task.gated if task.status is _PENDING else not real and _is_simulated_victim(task))
    ]


def _is_simulated_victim(task: Task) -> bool:
    """Whether a simulation evicted the task, which it may place again."""
    return task.status is _S.RELEASING and task.virtual
