"""GPUs as the solver counts them: whole ones, parts of shared ones, MIG instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice.model.gpu.request import GPU, mig_gpus
from pumice.model.nodes import NodeTable
from pumice.model.task import Task


def gpus_in(nodes: NodeTable, column: np.ndarray) -> np.ndarray:
    """Per node, the GPUs in a column (idle, future idle, allocatable), MIG included."""
    total = np.zeros(len(nodes))
    for name, position in nodes.dimensions.position.items():
        weight = 1 if name == GPU else mig_gpus(name)
        if weight:
            total += column[:, position] * (weight / 1000)
    return total


def idle_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, idle GPUs, the idle parts of shared devices included."""
    total = gpus_in(nodes, nodes.idle)
    for row in nodes.sharing_rows:
        total[row] += nodes.shares(row).idle_parts()
    return total


def releasing_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, GPUs that are being freed and not promised yet, parts included."""
    total = gpus_in(nodes, nodes.future_idle - nodes.idle)
    for row in nodes.sharing_rows:
        total[row] += nodes.shares(row).releasing_parts()
    return total


def freed_gpus(nodes: NodeTable, task: Task) -> float:
    """GPUs that the eviction of a task frees on its node."""
    row = nodes.row_of.get(task.node)
    if row is None or not task.gpu.any:
        return 0.0
    return task.gpu.accepted_milli(nodes.shares(row).memory_per_gpu) / 1000


def needed_gpus(task: Task) -> float:
    """GPUs that a pending task asks for; a request by memory counts nothing here."""
    return (task.gpu.milli + task.gpu.claimed * 1000) / 1000


def fits_empty_cluster(nodes: NodeTable, tasks: Sequence[Task]) -> bool:
    """Whether the tasks' GPUs could go onto the nodes if nobody else were there.

    False only where no placement whatsoever exists, so that no choice of victims can help: of
    tasks that each need so much or more, a node takes no more than its GPUs go round.
    """
    needs = np.sort([task.gpu.milli + task.gpu.claimed * 1000 for task in tasks])[::-1]
    room = np.rint(gpus_in(nodes, nodes.allocatable) * 1000).astype(np.int64)
    return all(
        int(np.count_nonzero(needs >= need)) <= int((room // need).sum())
        for need in np.unique(needs[needs > 0]).tolist()
    )
