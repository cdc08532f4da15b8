"""GPUs and MIG of nodes, as KAI reads them."""

from __future__ import annotations

import numpy as np

from pumice import Node, NodeTable, Task
from pumice.gpu import GPU

_MIG_LABEL = "node-role.kubernetes.io/mig-enabled"
_MIG_RESOURCE = "nvidia.com/mig-"
_STRATEGY_LABEL = "nvidia.com/mig.strategy"
_STRATEGIES = ("", "single", "mixed")
SINGLE, MIXED = 1, 2


def is_mig(node: Node) -> bool:
    """Whether the node's GPUs are partitioned into MIG instances."""
    label = node.labels.get(_MIG_LABEL)
    if label is not None:
        return label.lower() in ("1", "t", "true")
    return any(name.startswith(_MIG_RESOURCE) and n for name, n in node.allocatable.scalars.items())


def mig_strategy(node: Node) -> int:
    """``SINGLE``, ``MIXED`` or 0."""
    label = node.labels.get(_STRATEGY_LABEL, "")
    return _STRATEGIES.index(label) if label in _STRATEGIES else 0


def is_legacy_mig(task: Task) -> bool:
    """Whether only an annotation names the pod's MIG instance; KAI no longer places such pods."""
    annotations = task.pod.annotations
    if not annotations or task.gpu.mig:
        return False
    return any(key.startswith(_MIG_RESOURCE) for key in annotations)


def wants_gpus(task: Task, nodes: NodeTable) -> bool:
    """Whether the task requests a GPU or a part of one, as a resource or by a claim."""
    if task.gpu.any:
        return True
    gpu = nodes.dimensions.position.get(GPU)
    return gpu is not None and bool(task.vector[gpu] > 0)


def without_gpus(nodes: NodeTable) -> np.ndarray:
    """Mask over all nodes: those without any GPU."""
    gpu = nodes.dimensions.position.get(GPU)
    none = np.ones(len(nodes), bool) if gpu is None else nodes.allocatable[:, gpu] <= 0
    mig = nodes.fact_column("kai.mig", is_mig, lasting=True)
    mask: np.ndarray = none & (nodes.claimable == 0) & ~mig
    return mask
