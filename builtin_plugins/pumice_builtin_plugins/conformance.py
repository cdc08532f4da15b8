"""Pods that the cluster itself depends on are never evicted."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import EvictionContext, Job, Plugin, Task, hookimpl

_CRITICAL = frozenset({"system-cluster-critical", "system-node-critical"})


class Conformance(Plugin):
    """Spare system-critical pods and everything in kube-system."""

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _ordinary(candidates)

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _ordinary(candidates)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        return _ordinary(candidates)

    @hookimpl
    def reclaim_victim_filter(self, victim: Job) -> bool:
        return _is_ordinary(victim)

    @hookimpl
    def preempt_victim_filter(self, victim: Job) -> bool:
        return _is_ordinary(victim)


def _is_ordinary(job: Job) -> bool:
    tasks = list(job.tasks.values())
    return len(_ordinary(tasks)) == len(tasks)


def _ordinary(candidates: Sequence[Task]) -> list[Task]:
    return [
        task
        for task in candidates
        if task.namespace != "kube-system" and task.pod.priority_class not in _CRITICAL
    ]
