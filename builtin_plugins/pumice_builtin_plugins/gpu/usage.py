"""How much of a shared GPU is in use."""

from __future__ import annotations

from math import nan

from pumice import NodeTable

_LEAST_MEMORY = 100


def used_portion(nodes: NodeTable, row: int, gpu_group: str) -> float:
    """The used part of the GPU that a group shares; NaN where the node does not tell its size."""
    shares = nodes.shares(row)
    if shares.memory_per_gpu < _LEAST_MEMORY:
        return nan
    return shares.used.get(gpu_group, 0) / shares.memory_per_gpu
