"""Periodically evict pods from the busiest nodes so that they move to idle ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pumice import Duration, Plugin, Task, hookimpl
from pumice_builtin_plugins.rescheduling.low_utilization import NodeUtilization, select_victims

_FULL = 100.0


class UsageThresholds(BaseModel):
    """Percentages of what a node has; one that is not given is 100."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    cpu: float = Field(_FULL, ge=0, le=_FULL)
    memory: float = Field(_FULL, ge=0, le=_FULL)
    pod: float = Field(_FULL, ge=0, le=_FULL)

    @model_validator(mode="before")
    @classmethod
    def _accept_pods(cls, data: Any) -> Any:
        if isinstance(data, dict) and "pods" in data and "pod" not in data:
            return {"pod" if key == "pods" else key: value for key, value in data.items()}
        return data

    def as_dict(self) -> dict[str, float]:
        return {"cpu": self.cpu, "memory": self.memory, "pod": self.pod}


class Params(BaseModel):
    """Parameters of the strategy ``lowNodeUtilization``."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    thresholds: UsageThresholds = UsageThresholds()
    target_thresholds: UsageThresholds = Field(UsageThresholds(), alias="targetThresholds")
    priority_class: str = Field("", alias="thresholdPriorityClassName")
    node_fit: bool = Field(False, alias="nodeFit")


class Strategy(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Literal["lowNodeUtilization"]
    params: Params = Params()


class Rescheduling(Plugin):
    """Select victims on nodes with high measured usage while others have low usage.

    Acts through the action shuffle. Usage is the average that the cluster's metrics give for
    ``metricsPeriod``; Volcano's collector writes averages of ``10m`` only, so with another period
    every node counts as idle and nothing happens.
    """

    class Options(Plugin.Options):
        """When pods are moved, and by which strategies."""

        interval: Duration = Field(300.0, ge=0, description="Time between two rounds.")
        metrics_period: str = Field(
            "5m", alias="metricsPeriod", description="Which average of the measured usage is read."
        )
        strategies: list[Strategy] = Field(
            default_factory=list,
            description="lowNodeUtilization, with params: thresholds and targetThresholds (cpu, "
            "memory, pod in percent), thresholdPriorityClassName and nodeFit (both ignored).",
        )

    options: Options

    @hookimpl
    def on_session_open(self) -> None:
        memory, now = self.session.memory, self.session.now
        # The first round is due one interval after the first cycle.
        self._due = now - memory.setdefault(self.name, now) >= self.options.interval
        if self._due:
            memory[self.name] = now

    @hookimpl
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task] | None:
        if not self._due:
            return None
        victims: dict[str, Task] = {}
        for strategy in self.options.strategies:
            params = strategy.params
            nodes = [self._node(row) for row in range(len(self.session.nodes))]
            low, high = params.thresholds.as_dict(), params.target_thresholds.as_dict()
            for task in select_victims(nodes, low, high, tasks):
                victims[task.uid] = task
        return list(victims.values())

    # -- helpers

    def _node(self, row: int) -> NodeUtilization:
        table = self.session.nodes
        facts = table.facts[row]
        usage = self._usage(facts.name)
        return NodeUtilization(
            name=facts.name,
            schedulable=not facts.unschedulable,
            cpu=int(table.allocatable[row, 0]),
            memory=int(table.allocatable[row, 1]),
            usage={part: self._average(usage.get(part)) for part in ("cpu", "memory", "pod")},
            tasks=_by_name(entry.task for entry in table.held[row].values()),
        )

    def _usage(self, node: str) -> Mapping[str, Any]:
        usage = self.session.cluster.inventory.node_usage.get(node)
        return usage if isinstance(usage, Mapping) else {}

    def _average(self, averages: Any) -> float:
        value = averages.get(self.options.metrics_period) if isinstance(averages, Mapping) else 0.0
        return float(value) if isinstance(value, int | float) else 0.0


def _by_name(tasks: Iterable[Task]) -> list[Task]:
    return sorted(tasks, key=lambda task: task.key)
