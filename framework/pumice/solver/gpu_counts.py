"""GPU counts for the solver: whole GPUs, shares of GPUs, MIG instances."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pumice.model.gpu.request import GPU, mig_gpus
from pumice.model.nodes import NodeTable
from pumice.model.task import Task


def gpus_in(nodes: NodeTable, column: np.ndarray) -> np.ndarray:
    """Per node, the GPUs in a column (idle, future idle, allocatable), MIG included."""
    total = np.zeros(len(nodes))
    for position, weight in _gpu_weights(nodes.dimensions.names):
        total += column[:, position] * weight
    return total


@lru_cache(maxsize=64)
def _gpu_weights(names: tuple[str, ...]) -> tuple[tuple[int, float], ...]:
    """Positions of the resources that count as GPUs, and how many GPUs a thousandth is."""
    weights = ((1 if name == GPU else mig_gpus(name)) / 1000 for name in names)
    return tuple((position, weight) for position, weight in enumerate(weights) if weight)


def idle_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, idle GPUs, including the idle shares of shared GPUs."""
    total = gpus_in(nodes, nodes.idle)
    for row in nodes.sharing_rows:
        total[row] += nodes.shares(row).idle_parts()
    return total


def releasing_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, releasing GPUs that no task is pipelined to, including shares."""
    total = gpus_in(nodes, nodes.future_idle - nodes.idle)
    for row in nodes.sharing_rows:
        total[row] += nodes.shares(row).releasing_parts()
    return total


def freed_gpus(nodes: NodeTable, task: Task) -> float:
    """GPUs that the eviction of a task releases on its node."""
    row = nodes.row_of.get(task.node)
    if row is None or not task.gpu.any:
        return 0.0
    return task.gpu.accepted_milli(nodes.shares(row).memory_per_gpu) / 1000


def needed_gpus(task: Task) -> float:
    """GPUs that a pending task requests; a request by GPU memory counts as 0."""
    return (task.gpu.milli + task.gpu.claimed * 1000) / 1000


def fits_empty_cluster(nodes: NodeTable, tasks: Sequence[Task]) -> bool:
    """Whether the tasks' GPUs would fit the nodes if these were empty.

    False only where no placement exists, so that no choice of victims can help: a node fits at
    most floor(GPUs / need) of the tasks that each need so many GPUs or more.
    """
    needs = [task.gpu.milli + task.gpu.claimed * 1000 for task in tasks]
    gpus = np.rint(gpus_in(nodes, nodes.allocatable) * 1000).astype(np.int64)
    return all(
        sum(1 for other in needs if other >= need) <= int((gpus // need).sum())
        for need in set(needs)
        if need > 0
    )
