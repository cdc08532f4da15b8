"""System-critical pods are never evicted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pumice import EvictionContext, Job, Plugin, Task, VoteDetails, hookimpl

_CRITICAL = frozenset({"system-cluster-critical", "system-node-critical"})


class Conformance(Plugin):
    """Protect system-critical pods and everything in kube-system from eviction."""

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def protected(self, task: Task) -> str | None:
        if task.namespace == "kube-system" or task.pod.priority_class in _CRITICAL:
            return "it is system-critical"
        return None

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _without_critical(candidates)

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        return _without_critical(candidates)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        return _without_critical(candidates)

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point in ("preemptable", "reclaimable", "unified_evictable"):
            return VoteDetails("it is system-critical")
        if point in ("reclaim_victim_filter", "preempt_victim_filter"):
            return VoteDetails("it has system-critical pods")
        return None

    @hookimpl
    def reclaim_victim_filter(self, victim: Job) -> bool:
        return _has_no_critical_task(victim)

    @hookimpl
    def preempt_victim_filter(self, victim: Job) -> bool:
        return _has_no_critical_task(victim)


def _without_critical(candidates: Sequence[Task]) -> list[Task]:
    return [
        task
        for task in candidates
        if task.namespace != "kube-system" and task.pod.priority_class not in _CRITICAL
    ]


def _has_no_critical_task(job: Job) -> bool:
    tasks = list(job.tasks.values())
    return len(_without_critical(tasks)) == len(tasks)
