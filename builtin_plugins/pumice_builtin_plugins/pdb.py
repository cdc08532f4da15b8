"""Pod disruption budgets hold against the scheduler's own evictions."""

from __future__ import annotations

from collections.abc import Sequence

from pumice import DisruptionBudget, Plugin, Task, hookimpl
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.feature_gates import is_enabled


class Pdb(Plugin):
    """Spare pods whose disruption budget is used up, counting the candidates of one question.

    A pod without labels is never a victim. Under shuffle every running pod that no budget
    protects is named, so give the plugin ``disable = ["victim_tasks"]`` there.
    """

    @hookimpl
    def on_session_open(self) -> None:
        self._on = is_enabled(self.session.cluster, "PodDisruptionBudgetsSupport", default=True)
        self._budgets: dict[str, list[DisruptionBudget]] = {}
        for _, budget in sorted(self.session.cluster.inventory.budgets.items()):
            if _selects(budget):
                self._budgets.setdefault(budget.namespace, []).append(budget)

    @hookimpl
    def preemptable(self, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(candidates) if self._on else None

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(candidates) if self._on else None

    @hookimpl
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task] | None:
        return self._within_budget(tasks) if self._on else None

    def _within_budget(self, candidates: Sequence[Task]) -> list[Task]:
        left: dict[tuple[str, str], int] = {}
        allowed = []
        for task in candidates:
            if not task.labels:
                continue
            violates = False
            for budget in self._budgets.get(task.namespace, ()):
                if task.name in budget.disrupted_pods:
                    continue
                if not matches_selector(budget.selector, task.labels):
                    continue
                # A pod that is spared has used its part of the other budgets all the same.
                key = (budget.namespace, budget.name)
                left[key] = left.get(key, budget.disruptions_allowed) - 1
                violates = violates or left[key] < 0
            if not violates:
                allowed.append(task)
        return allowed


def _selects(budget: DisruptionBudget) -> bool:
    """Whether the budget names any pods: an empty selector protects nobody."""
    selector = budget.selector or {}
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))
