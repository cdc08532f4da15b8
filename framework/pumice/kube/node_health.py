"""Node health: whether a node is schedulable and its conditions are good."""

from __future__ import annotations

from pumice.model.facts import Node

_GOOD = {"Ready": "True"} | dict.fromkeys(
    ("MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"), "False"
)


def is_healthy(node: Node) -> bool:
    """Whether the node is schedulable and its conditions are good; a missing one counts as good."""
    if node.unschedulable:
        return False
    return not node.conditions or all(
        node.conditions.get(kind, good) == good for kind, good in _GOOD.items()
    )
