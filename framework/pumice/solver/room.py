"""GPUs as the solver counts them: whole ones, parts of shared ones, MIG instances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice.model.gpu_request import GPU, mig_gpus
from pumice.model.nodes import NodeTable
from pumice.model.task import Task


def gpu_room(nodes: NodeTable, column: np.ndarray) -> np.ndarray:
    """Per node, GPUs in a column (idle, or idle once promises are kept), MIG included."""
    total = np.zeros(len(nodes))
    for name, position in nodes.dimensions.position.items():
        weight = 1 if name == GPU else mig_gpus(name)
        if weight:
            total += column[:, position] * (weight / 1000)
    return total


def idle_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, idle GPUs, the idle parts of shared devices included."""
    total = gpu_room(nodes, nodes.idle)
    for row in nodes.sharing_rows:
        total[row] += nodes.shares(row).idle_parts()
    return total


def releasing_gpus(nodes: NodeTable) -> np.ndarray:
    """Per node, GPUs that are being freed and not promised yet, parts included."""
    total = gpu_room(nodes, nodes.future_idle - nodes.idle)
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
    """Whether the tasks' GPUs would go onto the nodes if nobody else were there.

    Where they would not, no choice of victims can help.
    """
    needs = sorted(map(needed_gpus, tasks), reverse=True)
    room = np.sort(gpu_room(nodes, nodes.allocatable))[::-1]
    return packs(needs, [*map(float, room[: len(needs)])])


def packs(needs: list[float], room: list[float]) -> bool:
    """Whether needs (largest first) go greedily into room (largest first)."""
    taken = [0.0] * len(room)
    full = 0
    for need in needs:
        if need <= 0:
            return True
        for position in range(full, len(room)):
            free = room[position]
            if free < need:
                return False
            if free - taken[position] >= need:
                taken[position] += need
                break
            if position == full and taken[position] >= free:
                full += 1
        else:
            return False
    return True
