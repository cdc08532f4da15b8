"""The strategy lowNodeUtilization: which pods move from busy nodes to idle ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pumice import Task
from pumice_builtin_plugins.kube.qos import QOS_CLASSES, qos_class

_PERCENT = 100.0


@dataclass(slots=True, eq=False)
class NodeUtilization:
    """A node with its measured usage in percent, by ``cpu``, ``memory`` and ``pod``."""

    name: str
    schedulable: bool
    cpu: int
    memory: int
    usage: dict[str, float]
    tasks: Sequence[Task]

    def is_below(self, thresholds: Mapping[str, float]) -> bool:
        return all(self.usage[part] < bound for part, bound in thresholds.items())

    def is_above(self, targets: Mapping[str, float]) -> bool:
        return any(self.usage[part] > bound for part, bound in targets.items())

    def reaches(self, targets: Mapping[str, float]) -> bool:
        return any(self.usage[part] >= bound for part, bound in targets.items())

    def subtract(self, task: Task) -> None:
        """Count a pod's request as no longer used."""
        self.usage["cpu"] -= _percent(task.request.cpu, self.cpu)
        self.usage["memory"] -= _percent(task.request.memory, self.memory)


def select_victims(
    nodes: Sequence[NodeUtilization],
    thresholds: Mapping[str, float],
    targets: Mapping[str, float],
    tasks: Sequence[Task],
) -> list[Task]:
    """The tasks, of those given, that are to be evicted from their nodes."""
    low = [node for node in nodes if node.schedulable and node.is_below(thresholds)]
    idle = {id(node) for node in low}
    high = [node for node in nodes if id(node) not in idle and node.is_above(targets)]
    if not low or len(low) == len(nodes) or not high:
        return []
    cpu = sum((targets["cpu"] - node.usage["cpu"]) * node.cpu / _PERCENT for node in low)
    memory = sum(
        (targets["memory"] - node.usage["memory"]) * node.memory / _PERCENT for node in low
    )
    candidates = {task.uid for task in tasks}
    victims: list[Task] = []
    high.sort(key=lambda node: (-node.usage["cpu"] - node.usage["memory"], node.name))
    for node in high:
        for task in sorted(node.tasks, key=_victim_order):
            # Volcano stops only when a budget is exactly 0, and goes on below it.
            if not node.reaches(targets) or cpu == 0 or memory == 0:
                break
            if task.uid in candidates:
                victims.append(task)
                node.subtract(task)
                cpu -= task.request.cpu
                memory -= task.request.memory
    return victims


def _victim_order(task: Task) -> tuple[bool, int, int, str]:
    """Pods without priority first, then the lower priority, then the lower QoS class."""
    priority = task.pod.priority
    return (priority is not None, priority or 0, QOS_CLASSES.index(qos_class(task.pod)), task.key)


def _percent(amount: float, whole: int) -> float:
    return amount * _PERCENT / whole if whole else 0.0
