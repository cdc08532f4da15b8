"""How much of a shared GPU is in use."""

from __future__ import annotations

from math import nan

from pumice import NodeTable

_MIN_MEMORY = 100
"""KAI takes a smaller memory per GPU for unknown."""


def used_portion(nodes: NodeTable, row: int, gpu_group: str) -> float:
    """The used fraction of a shared GPU; NaN where the memory of the node's GPUs is unknown."""
    shares = nodes.shares(row)
    if shares.memory_per_gpu < _MIN_MEMORY:
        return nan
    return shares.used.get(gpu_group, 0) / shares.memory_per_gpu
