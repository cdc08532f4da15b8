"""Jobs like one that has failed need not be tried again (KAI's scheduling signatures)."""

from __future__ import annotations

import json
from collections.abc import Hashable

from pumice.model.gang import active_count
from pumice.model.job import Job
from pumice.model.task import Task


def signature(job: Job) -> Hashable:
    """What the pending tasks of a job require of nodes, apart from resources."""
    sets = []
    for pod_set in job.sub_jobs.values():
        if active_count(pod_set) == len(pod_set.tasks):
            continue
        chain = [_constraint(pod_set.topology_constraint)]
        above = pod_set.parent
        while above is not None:
            chain.append(_constraint(above.topology_constraint))
            above = above.parent
        sets.append((tuple(chain), tuple(sorted(map(_task_signature, pod_set.pending)))))
    return tuple(sorted(sets))


def _constraint(raw: object) -> str:
    return "" if raw is None else json.dumps(raw, sort_keys=True, default=str)


def _task_signature(task: Task) -> tuple[str, str, str]:
    pod = task.pod
    return (str(task.constraints), pod.priority_class, str(pod.priority))


class FailedJobs:
    """Records, for each signature, the smallest job that failed."""

    def __init__(self, *, enabled: bool = True) -> None:
        self._enabled = enabled
        self._smallest: dict[Hashable, list[Task]] = {}
        self._worth: dict[Hashable, bool] = {}
        """By kind of jobs: the last answer."""

    def worth_trying(self, job: Job, kind: Hashable = None) -> bool:
        """Whether the job requests less than the smallest failed job of its signature.

        ``kind``: what it has in common with jobs that request the same.
        """
        if not self._smallest:
            return True
        worth = None if kind is None else self._worth.get(kind)
        if worth is None:
            failed = self._smallest.get(signature(job))
            worth = failed is None or _easier(_requests(job), failed)
            if kind is not None:
                self._worth[kind] = worth
        return worth

    def failed(self, job: Job) -> None:
        """Remember that the job found no plan."""
        if not self._enabled:
            return
        key = signature(job)
        known, own = self._smallest.get(key), _requests(job)
        if known is None or _footprint_smaller(own, known):
            self._smallest[key] = own
            self._worth.clear()


def _requests(job: Job) -> list[Task]:
    """The pending tasks, those that request less first."""
    ordered: list[Task] = []
    for task in job.pending:
        position = len(ordered)
        while position and _requests_less(task, ordered[position - 1]):
            position -= 1
        ordered.insert(position, task)
    return ordered


def _requests_less(left: Task, right: Task) -> bool:
    return _at_most(left, right) and not _at_most(right, left)


def _at_most(left: Task, right: Task) -> bool:
    l_gpu, r_gpu = left.gpu, right.gpu
    return (
        # Tasks of one pod template share their vector.
        (left.vector is right.vector or bool((left.vector <= right.vector).all()))
        and l_gpu.devices <= r_gpu.devices
        and l_gpu.portion <= r_gpu.portion + 0.01
        and all(count <= r_gpu.mig.get(name, 0) for name, count in l_gpu.mig.items())
    )


def _easier(job: list[Task], failed: list[Task]) -> bool:
    if not job or not failed:
        return False
    if len(failed) > len(job):
        return True
    return any(_requests_less(mine, theirs) for mine, theirs in zip(job, failed, strict=False))


def _footprint_smaller(job: list[Task], known: list[Task]) -> bool:
    if not job or not known or len(job) > len(known):
        return False
    return all(_at_most(mine, theirs) for mine, theirs in zip(job, known, strict=False))
