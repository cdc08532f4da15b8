"""Minimum runtime: jobs that have just started are protected from eviction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from pydantic import Field

from pumice import (
    EvictionContext,
    Job,
    Plan,
    Plugin,
    Queue,
    Task,
    TaskStatus,
    VoteDetails,
    common_depth,
    hookimpl,
    parse_duration,
    queue_path,
)
from pumice.gang import is_elastic, used_count
from pumice.solver import VictimJob


class MinRuntime(Plugin):
    """Minimum runtimes before jobs may be preempted or reclaimed.

    A queue's own runtime counts, else its nearest ancestor's, else the default. A protected
    elastic job may still lose its tasks beyond minAvailable.
    """

    class Options(Plugin.Options):
        preempt: str = Field(
            "0s",
            alias="defaultPreemptMinRuntime",
            description="Runtime before a job of the same queue may preempt, for queues that set "
            "none; negative or malformed: 0.",
        )
        reclaim: str = Field(
            "0s",
            alias="defaultReclaimMinRuntime",
            description="Runtime before another queue may reclaim, for queues that set none; "
            "negative or malformed: 0.",
        )
        method: str = Field(
            "lca",
            alias="reclaimResolveMethod",
            description="Whose runtime protects from reclaim: 'lca', that of the victim's ancestor "
            "just below the queues' lowest common ancestor; 'queue', that of the victim's queue.",
        )

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def on_session_open(self) -> None:
        self._preempt_default = _parse(self.options.preempt)
        self._reclaim_default = _parse(self.options.reclaim)
        self._preempt_runtimes: dict[str, float] = {}
        self._reclaim_runtimes: dict[tuple[str, str], float] = {}

    # -- protection

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Until its runtime has passed a job loses only tasks beyond its minimum."""
        victim, claimant = task.job, context.job
        if victim is None or claimant is None:
            return None
        if claimant.queue == victim.queue:
            runtime = self._preempt_runtime(victim)
        else:
            runtime = self._reclaim_runtime(claimant, victim)
        if not self._is_protected(victim, runtime) or _has_surplus(task, victim):
            return None
        return f"its job has run for less than {runtime:g} s"

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point not in ("preempt_victim_filter", "reclaim_victim_filter"):
            return None
        job, victim = args
        preempts = point == "preempt_victim_filter"
        runtime = self._preempt_runtime(victim) if preempts else self._reclaim_runtime(job, victim)
        text = f"it has run for less than {runtime:g} s"
        return VoteDetails(text, {"minimum runtime in seconds": runtime})

    # -- victim filters

    @hookimpl
    def preempt_victim_filter(self, job: Job, victim: Job) -> bool:
        return not self._is_protected(victim, self._preempt_runtime(victim)) or is_elastic(victim)

    @hookimpl
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool:
        return not self._is_protected(victim, self._reclaim_runtime(job, victim)) or is_elastic(
            victim
        )

    # -- scenario validators, for elastic jobs

    @hookimpl
    def preempt_scenario_validator(self, plan: Plan) -> bool:
        return all(
            self._may_shrink(victim, self._preempt_runtime(victim.job))
            for victim in plan.victims.values()
            if is_elastic(victim.job)
        )

    @hookimpl
    def reclaim_scenario_validator(self, plan: Plan) -> bool:
        return all(
            self._may_shrink(victim, self._reclaim_runtime(plan.preemptor, victim.job))
            for victim in plan.victims.values()
            if is_elastic(victim.job)
        )

    def _may_shrink(self, victim: VictimJob, runtime: float) -> bool:
        return not self._is_protected(victim.job, runtime) or _keeps_minimum(victim)

    def _is_protected(self, victim: Job, runtime: float) -> bool:
        return victim.last_start is not None and self.session.now < victim.last_start + runtime

    # -- whose runtime counts

    def _preempt_runtime(self, victim: Job) -> float:
        found = self._preempt_runtimes.get(victim.queue)
        if found is None:
            path = queue_path(self.session.queues, victim.queue)
            runtimes = (queue.preempt_min_runtime for queue in reversed(path))
            found = self._preempt_runtimes[victim.queue] = _first_set(
                runtimes, self._preempt_default
            )
        return found

    def _reclaim_runtime(self, job: Job, victim: Job) -> float:
        key = (job.queue, victim.queue)
        found = self._reclaim_runtimes.get(key)
        if found is None:
            runtimes = (queue.reclaim_min_runtime for queue in self._deciding_queues(*key))
            found = self._reclaim_runtimes[key] = _first_set(runtimes, self._reclaim_default)
        return found

    def _deciding_queues(self, reclaimer: str, victim: str) -> list[Queue]:
        """The queues whose runtime protects from reclaim; the first that sets one counts."""
        victim_path = queue_path(self.session.queues, victim)
        if self.options.method == "queue":
            return victim_path[::-1]
        reclaimer_path = queue_path(self.session.queues, reclaimer)
        if not reclaimer_path or not victim_path:
            return []
        common = common_depth(reclaimer_path, victim_path)
        if not common:
            # KAI: without a common ancestor the victim's top queue decides alone.
            return victim_path[:1]
        return victim_path[: common + 1][::-1]


def _first_set(runtimes: Iterable[float | None], default: float) -> float:
    return next((runtime for runtime in runtimes if runtime is not None), default)


def _has_surplus(task: Task, job: Job) -> bool:
    """Whether the job keeps its minimum without a task that may be evicted already."""
    left = job.ready_count - (task.status is not TaskStatus.RELEASING)
    return left > 0 and left >= job.min_available


def _keeps_minimum(victim: VictimJob) -> bool:
    """Whether every pod set of a victim keeps minAvailable without the tasks in the plan."""
    lost = Counter(task.sub_job.uid for task in victim.tasks if task.sub_job is not None)
    return all(
        used_count(pod_set) - lost[uid] >= pod_set.min_available
        for uid, pod_set in victim.job.sub_jobs.items()
    )


def _parse(text: str) -> float:
    try:
        return max(float(parse_duration(text)), 0.0)
    except ValueError:
        return 0.0
