"""Facts read from manifests: what a backend knows of each object, before any decision.

Facts are shared between cycles and never changed by a session. A session builds its own
mutable :class:`~pumice.model.task.Task`, :class:`~pumice.model.job.Job` and node table from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pumice.model.resources import Resource

UNLIMITED = math.inf
"""A quantity without bound. Absent (``None``), zero and unlimited are three different things."""

Raw = Mapping[str, Any]
"""A part of a manifest kept as it was read, for plugins that need its details."""


@dataclass(slots=True, eq=False)
class Container:
    """What scheduling reads of one container."""

    name: str
    requests: Resource
    limits: Resource
    image: str = ""
    ports: Sequence[Raw] = ()
    restart_always: bool = False
    env: Raw = field(default_factory=dict)
    """The keys ``env`` and ``envFrom``, where the container has them."""


@dataclass(slots=True, eq=False)
class Pod:
    """One pod. ``request`` is the effective request, as the reader's family computes it."""

    uid: str
    name: str
    namespace: str
    request: Resource
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    """Epoch seconds; 0.0 when the manifest has no creationTimestamp."""
    deleted: float | None = None
    """Epoch seconds of the deletionTimestamp."""
    owner: str = ""
    scheduler_name: str = ""
    group: str = ""
    """Uid of the job (``namespace/podgroup``) that the pod says it belongs to; empty: none."""
    phase: str = "Pending"
    node_name: str = ""
    nominated_node: str = ""
    start_time: float | None = None
    conditions: Sequence[Raw] = ()
    priority: int | None = None
    priority_class: str = ""
    preemption_policy: str = ""
    gates: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    affinity: Raw = field(default_factory=dict)
    tolerations: Sequence[Raw] = ()
    topology_spread: Sequence[Raw] = ()
    host_ports: tuple[tuple[str, str, int], ...] = ()
    """(protocol, host ip, port) of every host port; ip ``0.0.0.0`` means all."""
    volumes: Sequence[Raw] = ()
    resource_claims: Sequence[Raw] = ()
    containers: Sequence[Container] = ()
    init_containers: Sequence[Container] = ()
    qos: str = ""
    status_override: str = ""
    """Label of the task status that the pod has whatever its phase; empty: as its phase says."""
    gpu_groups: tuple[str, ...] = ()
    """The groups of pods with which it shares GPUs; empty: as its labels say."""

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True, eq=False)
class Node:
    """One node as reported by the cluster."""

    name: str
    allocatable: Resource
    capacity: Resource
    max_pods: int = 0
    """Most pods the node takes (allocatable ``pods``)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: Sequence[Raw] = ()
    unschedulable: bool = False
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Condition type → status (``True``, ``False``, ``Unknown``). Empty: the node is ready."""
    images: Sequence[Raw] = ()
    created: float = 0.0


@dataclass(slots=True, eq=False)
class NetworkTopology:
    """How close together the tasks of a job must be."""

    mode: Literal["hard", "soft", ""] = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


@dataclass(slots=True, eq=False)
class SubGroupPolicy:
    """One rule that splits a Volcano pod group into sub-jobs."""

    name: str
    label_selector: Raw | None = None
    match_label_keys: tuple[str, ...] = ()
    size: int | None = None
    min_sub_groups: int | None = None
    network_topology: NetworkTopology | None = None


@dataclass(slots=True, eq=False)
class SubGroup:
    """One named sub-group of a KAI pod group."""

    name: str
    min_member: int = 1
    parent: str = ""
    topology_constraint: Raw | None = None


@dataclass(slots=True, eq=False)
class PodGroup:
    """A pod group of either family: the gang that a job is made from."""

    uid: str
    """``namespace/name``."""
    name: str
    namespace: str
    family: Literal["volcano", "kai"] = "volcano"
    queue: str = ""
    min_member: int = 0
    min_task_member: Mapping[str, int] = field(default_factory=dict)
    min_resources: Resource | None = None
    quota_min_resources: Mapping[str, float] = field(default_factory=dict)
    """``minResources`` by the names of the manifest, those that only a resource quota knows
    (``requests.cpu``) included."""
    priority: int | None = None
    """The value that wins over the priority class (KAI only)."""
    priority_class: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: float = 0.0
    phase: str = ""
    conditions: Sequence[Raw] = ()
    network_topology: NetworkTopology | None = None
    sub_group_policies: Sequence[SubGroupPolicy] = ()
    sub_groups: Sequence[SubGroup] = ()
    topology_constraint: Raw | None = None
    preemptibility: str = ""
    scheduling_backoff: int | None = None
    last_start: float | None = None
    """Epoch seconds at which the job last went from nothing to running (KAI annotation)."""
    stale_since: float | None = None
    """Epoch seconds since when the gang has been below its minimum (KAI annotation)."""
    mark_unschedulable: bool = True
    nominated_hyper_node: str = ""
    """The hypernode that an earlier cycle chose for the job (Volcano only)."""


@dataclass(slots=True, eq=False)
class Queue:
    """A queue of either family. The reader fills what the kind has.

    ``limit`` is Volcano's capability and KAI's limit, ``deserved`` Volcano's deserved and KAI's
    quota. ``None`` means that the manifest does not bound it; a resource missing inside a
    :class:`Resource` is told apart by the reader (KAI: zero; Volcano: not limited).
    """

    name: str
    family: Literal["volcano", "kai"] = "volcano"
    parent: str = ""
    weight: int = 1
    priority: int = 0
    reclaimable: bool = True
    state: str = "Open"
    deserved: Resource | None = None
    guarantee: Resource | None = None
    limit: Resource | None = None
    over_quota_weight: Resource | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    affinity: Raw = field(default_factory=dict)
    display_name: str = ""
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    device_limits: Raw = field(default_factory=dict)
    """Volcano's ``deviceclass/…`` keys of capability, deserved and guarantee, as read."""
    created: float = 0.0
    children: list[str] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class PriorityClass:
    name: str
    value: int
    global_default: bool = False
    preemption_policy: str = ""


@dataclass(slots=True, eq=False)
class DisruptionBudget:
    """A PodDisruptionBudget."""

    name: str
    namespace: str
    selector: Raw | None = None
    disruptions_allowed: int = 0
    disrupted_pods: frozenset[str] = frozenset()


@dataclass(slots=True, eq=False)
class HyperNode:
    """A Volcano HyperNode: a group of nodes or of other hypernodes."""

    name: str
    tier: int
    tier_name: str = ""
    members: Sequence[Raw] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ResourceQuota:
    name: str
    namespace: str
    hard: Mapping[str, float] = field(default_factory=dict)
    used: Mapping[str, float] = field(default_factory=dict)
    raw: Raw = field(default_factory=dict)


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
    groups: dict[str, PodGroup] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    priority_classes: dict[str, PriorityClass] = field(default_factory=dict)
    budgets: dict[str, DisruptionBudget] = field(default_factory=dict)
    hypernodes: dict[str, HyperNode] = field(default_factory=dict)
    quotas: dict[str, ResourceQuota] = field(default_factory=dict)
    others: dict[str, dict[str, Raw]] = field(default_factory=dict)
    """Kinds kept as read (PersistentVolumeClaim, StorageClass, ResourceClaim, Topology,
    Numatopology, ConfigMap, BindRequest, …): kind → ``namespace/name`` or name → object."""
    problems: list[Problem] = field(default_factory=list)
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
