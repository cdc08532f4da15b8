"""The scheduler's own evictions respect pod disruption budgets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pumice import DisruptionBudget, EvictionContext, Plugin, Task, hookimpl
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.feature_gates import is_enabled


class Pdb(Plugin):
    """Protect pods whose disruption budget is used up, counting the candidates of one call.

    As in Volcano, a pod without labels is never a victim, and under shuffle every running pod
    that no budget protects is a victim: give the plugin ``disable = ["victim_tasks"]`` there.
    Volcano also ignores budgets with an empty selector; ``protected`` takes it for all pods of the
    namespace, as the API server does.
    """

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def on_session_open(self) -> None:
        self._enabled = is_enabled(
            self.session.cluster, "PodDisruptionBudgetsSupport", default=True
        )
        self._budgets: dict[str, list[DisruptionBudget]] = {}
        for _, budget in sorted(self.session.cluster.inventory.budgets.items()):
            self._budgets.setdefault(budget.namespace, []).append(budget)
        self._evicted: set[str] = set()
        self._counted = 0
        self._counted_victims: tuple[Task, ...] = ()
        self._used: Counter[tuple[str, str]] = Counter()
        self._used_with_victims = self._used

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Counts every eviction of the cycle, and those of the plan that is asked about."""
        if not self._enabled:
            return None
        budgets = self._budgets_of(task)
        if not budgets:
            return None
        used = self._used_by(context.victims)
        itself = task.uid not in self._evicted and task not in context.victims
        for budget in budgets:
            if used[_key(budget)] + itself > budget.disruptions_allowed:
                return f"disruption budget {budget.name} allows {budget.disruptions_allowed} more"
        return None

    def _used_by(self, victims: tuple[Task, ...]) -> Counter[tuple[str, str]]:
        """How many evictions of the cycle, and of the victims of a plan, each budget covers."""
        tasks, evictions = self.session.cluster.tasks, self.session.decisions.evictions
        if self._counted_victims is not victims or self._counted != len(evictions):
            for eviction in evictions[self._counted :]:
                if eviction.uid not in self._evicted and eviction.uid in tasks:
                    self._used.update(map(_key, self._budgets_of(tasks[eviction.uid])))
                self._evicted.add(eviction.uid)
            self._counted, self._counted_victims = len(evictions), victims
            self._used_with_victims = self._used.copy()
            for victim in victims:
                if victim.uid not in self._evicted:
                    self._used_with_victims.update(map(_key, self._budgets_of(victim)))
        return self._used_with_victims

    def _budgets_of(self, task: Task) -> list[DisruptionBudget]:
        """The budgets that the eviction of a task counts against."""
        return [b for b in self._budgets.get(task.namespace, ()) if _covers(b, task)]

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
            for budget in filter(_selects, self._budgets_of(task)):
                # Volcano subtracts from every budget of a pod, also when another protects it.
                key = _key(budget)
                remaining[key] = remaining.get(key, budget.disruptions_allowed) - 1
                violates = violates or remaining[key] < 0
            if not violates:
                victims.append(task)
        return victims


def _key(budget: DisruptionBudget) -> tuple[str, str]:
    return budget.namespace, budget.name


def _covers(budget: DisruptionBudget, task: Task) -> bool:
    """Whether the eviction of a task counts against the budget."""
    return (
        task.namespace == budget.namespace
        and task.name not in budget.disrupted_pods
        and matches_selector(budget.selector, task.labels)
    )


def _selects(budget: DisruptionBudget) -> bool:
    """Whether Volcano takes notice of the budget: it ignores an empty selector."""
    selector = budget.selector or {}
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))
