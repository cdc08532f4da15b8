"""Jobs that have just started are left alone for a while."""

from __future__ import annotations

from collections import Counter
from typing import Any

from pydantic import Field

from pumice import Job, Plugin, Queue, hookimpl, parse_duration
from pumice.gang import is_elastic, used_count


class MinRuntime(Plugin):
    """Least times that jobs run before they are preempted or reclaimed.

    A queue's own time counts, else the nearest ancestor's, else the default. A protected job
    still gives what it has beyond its minimum.
    """

    class Options(Plugin.Options):
        preempt: str = Field(
            "0s",
            alias="defaultPreemptMinRuntime",
            description="For queues that set none: time before a job of the same queue may "
            "preempt; negative or malformed: 0.",
        )
        reclaim: str = Field(
            "0s",
            alias="defaultReclaimMinRuntime",
            description="For queues that set none: time before another queue may reclaim; "
            "negative or malformed: 0.",
        )
        method: str = Field(
            "lca",
            alias="reclaimResolveMethod",
            description="Whose time protects from reclaim: 'lca', of the victim's ancestor just "
            "below where the queues' ways part; 'queue', of the victim's own queue.",
        )

    @hookimpl
    def on_session_open(self) -> None:
        self._preempt_default = _runtime(self.options.preempt)
        self._reclaim_default = _runtime(self.options.reclaim)
        self._preempt_runtimes: dict[str, float] = {}
        self._reclaim_runtimes: dict[tuple[str, str], float] = {}

    # -- whole jobs

    @hookimpl
    def preempt_victim_filter(self, job: Job, victim: Job) -> bool:
        return not self._protected(victim, self._preempt_runtime(victim)) or is_elastic(victim)

    @hookimpl
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool:
        return not self._protected(victim, self._reclaim_runtime(job, victim)) or is_elastic(victim)

    # -- jobs that may shrink

    @hookimpl
    def preempt_scenario_validator(self, plan: Any) -> bool:
        return all(
            _keeps_minimum(victim)
            for victim in plan.victims.values()
            if is_elastic(victim.job)
            and self._protected(victim.job, self._preempt_runtime(victim.job))
        )

    @hookimpl
    def reclaim_scenario_validator(self, plan: Any) -> bool:
        return all(
            _keeps_minimum(victim)
            for victim in plan.victims.values()
            if is_elastic(victim.job)
            and self._protected(victim.job, self._reclaim_runtime(plan.preemptor, victim.job))
        )

    def _protected(self, victim: Job, runtime: float) -> bool:
        return victim.last_start is not None and self.session.now < victim.last_start + runtime

    # -- whose time counts

    def _preempt_runtime(self, victim: Job) -> float:
        found = self._preempt_runtimes.get(victim.queue)
        if found is None:
            path = self._path(victim.queue)
            told = (queue.preempt_min_runtime for queue in reversed(path))
            found = self._preempt_runtimes[victim.queue] = _first(told, self._preempt_default)
        return found

    def _reclaim_runtime(self, job: Job, victim: Job) -> float:
        key = (job.queue, victim.queue)
        found = self._reclaim_runtimes.get(key)
        if found is None:
            told = (queue.reclaim_min_runtime for queue in self._deciding(*key))
            found = self._reclaim_runtimes[key] = _first(told, self._reclaim_default)
        return found

    def _deciding(self, claimant: str, victim: str) -> list[Queue]:
        """The queues whose time protects from reclaim, the first that has one counts."""
        theirs = self._path(victim)
        if self.options.method == "queue":
            return theirs[::-1]
        ours = self._path(claimant)
        if not ours or not theirs:
            return []
        common = 0
        for left, right in zip(ours, theirs, strict=False):
            if left.name != right.name:
                break
            common += 1
        if not common:
            return theirs[:1]
        return theirs[: common + 1][::-1]

    def _path(self, name: str) -> list[Queue]:
        """The queue and its ancestors, the top first; empty where the queue is unknown."""
        path: list[Queue] = []
        queue = self.session.queues.get(name)
        while queue is not None:
            path.append(queue)
            queue = self.session.queues.get(queue.parent)
        return path[::-1]


def _first(told: Any, default: float) -> float:
    return next((runtime for runtime in told if runtime is not None), default)


def _keeps_minimum(victim: Any) -> bool:
    """Whether every pod set of a victim has its minimum without the tasks that it may lose."""
    lost = Counter(task.sub_job.uid for task in victim.tasks)
    return all(
        used_count(pod_set) - lost[uid] >= pod_set.min_available
        for uid, pod_set in victim.job.sub_jobs.items()
    )


def _runtime(text: str) -> float:
    try:
        return max(float(parse_duration(text)), 0.0)
    except ValueError:
        return 0.0
