"""What the KAI family reads of nodes beside their quantities: GPUs to claim, makers of GPUs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from pumice.model.facts import Inventory
from pumice.model.gpu.request import AMD_GPU, GPU
from pumice.model.nodes import NodeTable


def is_kai(inventory: Inventory) -> bool:
    """Whether the cluster is described in the words of the KAI family."""
    tables = (inventory.queues, inventory.groups)
    return any(fact.family == "kai" for table in tables for fact in table.values())


def describe_kai_nodes(nodes: NodeTable, inventory: Inventory) -> None:
    """Count GPUs of any maker together, with those that resource claims can have."""
    for name, devices in _claimable(inventory).items():
        row = nodes.row_of.get(name)
        if row is not None:
            nodes.claimable[row] = devices
    describe_kai_rows(nodes, range(len(nodes)))


def describe_kai_rows(nodes: NodeTable, rows: Sequence[int]) -> None:
    """The same for some nodes, for which it is known what claims can have."""
    where = slice(None) if len(rows) == len(nodes) else np.array(rows, np.intp)
    position = nodes.dimensions.position
    gpu, amd = position[GPU], position.get(AMD_GPU)
    if amd is not None:
        nodes.allocatable[where, gpu] += nodes.allocatable[where, amd]
        nodes.allocatable[where, amd] = 0
    nodes.allocatable[where, gpu] += nodes.claimable[where] * 1000
    for column in (nodes.idle, nodes.future_idle):
        column[where] = nodes.allocatable[where]


def _claimable(inventory: Inventory) -> Counter[str]:
    """Node → GPUs in its resource slices."""
    found: Counter[str] = Counter()
    for raw in inventory.others.get("ResourceSlice", {}).values():
        spec = raw.get("spec") or {}
        if "gpu" in str(spec.get("driver") or "").lower():
            found[str(spec.get("nodeName") or "")] += len(spec.get("devices") or ())
    return found
