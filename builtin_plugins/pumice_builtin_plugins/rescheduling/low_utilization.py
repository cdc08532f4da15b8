"""Which pods leave the busiest nodes, as far as the idlest have room for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pumice import Task
from pumice_builtin_plugins.kube.qos import QOS_CLASSES, qos_class

_PERCENT = 100.0


@dataclass(slots=True, eq=False)
class BusyNode:
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

    def lose(self, task: Task) -> None:
        """Count a pod's request as no longer used."""
        self.usage["cpu"] -= _part(task.request.cpu, self.cpu)
        self.usage["memory"] -= _part(task.request.memory, self.memory)


def leaving(
    nodes: Sequence[BusyNode],
    thresholds: Mapping[str, float],
    targets: Mapping[str, float],
    tasks: Sequence[Task],
) -> list[Task]:
    """The tasks, of those given, that are to leave their nodes."""
    low = [node for node in nodes if node.schedulable and node.is_below(thresholds)]
    idle = {id(node) for node in low}
    high = [node for node in nodes if id(node) not in idle and node.is_above(targets)]
    if not low or len(low) == len(nodes) or not high:
        return []
    cpu = sum((targets["cpu"] - node.usage["cpu"]) * node.cpu / _PERCENT for node in low)
    memory = sum(
        (targets["memory"] - node.usage["memory"]) * node.memory / _PERCENT for node in low
    )
    known = {task.uid for task in tasks}
    chosen: list[Task] = []
    high.sort(key=lambda node: (-node.usage["cpu"] - node.usage["memory"], node.name))
    for node in high:
        for task in sorted(node.tasks, key=_cheapest):
            # Upstream ends when a budget is spent to the last bit, and goes on below zero.
            if not node.reaches(targets) or cpu == 0 or memory == 0:
                break
            if task.uid in known:
                chosen.append(task)
                node.lose(task)
                cpu -= task.request.cpu
                memory -= task.request.memory
    return chosen


def _cheapest(task: Task) -> tuple[bool, int, int, str]:
    """Pods without priority first, then the lower priority, then the lower QoS class."""
    priority = task.pod.priority
    return (priority is not None, priority or 0, QOS_CLASSES.index(qos_class(task.pod)), task.key)


def _part(amount: float, whole: int) -> float:
    return amount * _PERCENT / whole if whole else 0.0
