"""GPUs of nodes as KAI counts them: those of any vendor, and those behind resource claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from pumice.model.facts import Inventory, PodGroup, Queue
from pumice.model.gpu.request import AMD_GPU, GPU
from pumice.model.nodes import NodeTable


def has_kai_jobs(inventory: Inventory) -> bool:
    """Whether there are jobs of KAI or in its queues: only then are GPUs counted as it does."""
    queues = inventory.queues
    return any(is_kai_job(group, queues) for group in inventory.groups.values())


def is_kai_job(group: PodGroup, queues: Mapping[str, Queue]) -> bool:
    """Whether a pod group or its queue is one of KAI."""
    if group.family == "kai":
        return True
    queue = queues.get(group.queue)
    return queue is not None and queue.family == "kai"


def count_kai_gpus(nodes: NodeTable, inventory: Inventory) -> None:
    """Count GPUs of any vendor as one resource, with those behind resource claims."""
    count_claimable(nodes, inventory, range(len(nodes)))
    count_kai_gpus_of(nodes, range(len(nodes)))


def count_claimable(nodes: NodeTable, inventory: Inventory, rows: Sequence[int]) -> None:
    """Count the GPUs behind resource claims of some nodes."""
    counts = _claimable(inventory) if rows else Counter[str]()
    for row in rows:
        nodes.claimable[row] = counts[nodes.names[row]]


def count_kai_gpus_of(nodes: NodeTable, rows: Sequence[int]) -> None:
    """The same for some nodes whose claimable GPUs are known."""
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
    counts: Counter[str] = Counter()
    for raw in inventory.others.get("ResourceSlice", {}).values():
        spec = raw.get("spec") or {}
        if "gpu" in str(spec.get("driver") or "").lower():
            counts[str(spec.get("nodeName") or "")] += len(spec.get("devices") or ())
    return counts
