"""The scheduler's own evictions respect pod disruption budgets."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import DisruptionBudget, EvictionContext, Plugin, Task, hookimpl
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.feature_gates import is_enabled


class Pdb(Plugin):
    """Protect pods whose disruption budget is used up, counting the candidates of one call.

    As in Volcano, a pod without labels is never a victim, and under shuffle every running pod
    that no budget protects is a victim: give the plugin ``disable = ["victim_tasks"]`` there.
    """

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def on_session_open(self) -> None:
        self._enabled = is_enabled(
            self.session.cluster, "PodDisruptionBudgetsSupport", default=True
        )
        self._budgets: dict[str, list[DisruptionBudget]] = {}
        for _, budget in sorted(self.session.cluster.inventory.budgets.items()):
            if _selects(budget):
                self._budgets.setdefault(budget.namespace, []).append(budget)

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Counts every eviction of the cycle, and those of the plan that is asked about."""
        if not self._enabled or not task.labels:
            return None
        evicted: set[str] | None = None
        for budget in self._budgets.get(task.namespace, ()):
            if not _covers(budget, task):
                continue
            if evicted is None:
                evicted = {eviction.uid for eviction in self.session.decisions.evictions}
                evicted |= {victim.uid for victim in context.victims} | {task.uid}
            tasks = self.session.cluster.tasks
            used = sum(1 for uid in evicted if uid in tasks and _covers(budget, tasks[uid]))
            if used > budget.disruptions_allowed:
                return f"disruption budget {budget.name} allows {budget.disruptions_allowed} more"
        return None

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(candidates) if self._enabled else None

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(candidates) if self._enabled else None

    @hookimpl
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(tasks) if self._enabled else None

    def _within_budget(self, candidates: Sequence[Task]) -> list[Task]:
        remaining: dict[tuple[str, str], int] = {}
        victims = []
        for task in candidates:
            if not task.labels:
                continue
            violates = False
            for budget in self._budgets.get(task.namespace, ()):
                if not _covers(budget, task):
                    continue
                # Volcano subtracts from every budget of a pod, also when another protects it.
                key = (budget.namespace, budget.name)
                remaining[key] = remaining.get(key, budget.disruptions_allowed) - 1
                violates = violates or remaining[key] < 0
            if not violates:
                victims.append(task)
        return victims


def _covers(budget: DisruptionBudget, task: Task) -> bool:
    """Whether the eviction of a task counts against the budget."""
    return (
        task.namespace == budget.namespace
        and task.name not in budget.disrupted_pods
        and matches_selector(budget.selector, task.labels)
    )


def _selects(budget: DisruptionBudget) -> bool:
    """Whether the budget selects any pod: Volcano ignores an empty selector."""
    selector = budget.selector or {}
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))
