"""Everything that a backend knows of a cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pumice.model.facts.evictions import EvictionLog
from pumice.model.facts.groups import PodGroup
from pumice.model.facts.nodes import HyperNode, Node
from pumice.model.facts.pods import Pod
from pumice.model.facts.queues import DisruptionBudget, PriorityClass, Queue, ResourceQuota
from pumice.model.facts.raw import Raw


@dataclass(slots=True, eq=False)
class Problem:
    """Something wrong with one object: it is left out, the rest is scheduled."""

    where: str
    """File (and position in it) or scenario the object came from."""
    object: str
    """``Kind namespace/name`` as far as known."""
    message: str
    hint: str = ""

    def __str__(self) -> str:
        text = f"{self.where}: {self.object}: {self.message}"
        return f"{text} ({self.hint})" if self.hint else text


@dataclass(slots=True, eq=False)
class Inventory:
    """Everything a backend knows of the cluster, by kind."""

    pods: dict[str, Pod] = field(default_factory=dict)
    """By uid."""
    nodes: dict[str, Node] = field(default_factory=dict)
    """Nodes by name."""
    groups: dict[str, PodGroup] = field(default_factory=dict)
    """Pod groups by uid, ``namespace/name``."""
    queues: dict[str, Queue] = field(default_factory=dict)
    """Queues by name."""
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    """Priority classes by name."""
    budgets: dict[str, DisruptionBudget] = field(default_factory=dict)
    """PodDisruptionBudgets by ``namespace/name``."""
    hypernodes: dict[str, HyperNode] = field(default_factory=dict)
    """Hypernodes by name."""
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)
    """ResourceQuotas by ``namespace/name``."""
    others: dict[str, dict[str, Raw]] = field(default_factory=dict)
    """Kinds that are stored as read (PersistentVolumeClaim, StorageClass, ResourceClaim, Topology,
    Numatopology, ConfigMap, BindRequest, …): kind → ``namespace/name`` or name → object."""
    problems: list[Problem] = field(default_factory=list)
    """Objects that were left out, and why."""
    ignored_kinds: Mapping[str, int] = field(default_factory=dict)
    """``group/Kind`` of objects that scheduling does not read → how many there were."""
    feature_gates: Mapping[str, Any] = field(default_factory=dict)
    """Kubernetes feature gates that are switched on or off; others have their default."""
    node_usage: Mapping[str, Any] = field(default_factory=dict)
    """Measured load: node → ``cpu`` and ``memory`` → period → percent, and ``measured``."""
    queue_usage: Mapping[str, Mapping[str, float]] | None = None
    """Queue → resource → part of the cluster used lately; None: not measured."""
    min_node_gpu_memory: int | None = None
    """MiB of the smallest GPU of the cluster; None: not known."""
    scheduler_params: Mapping[str, Any] = field(default_factory=dict)
    """KAI's scheduler parameters, under its names."""
    eviction_log: EvictionLog | None = None
    """What past evictions leave for this cycle; None: the backend does not store it, so that the
    scheduler remembers it itself."""
