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
    """The container's name."""
    requests: Resource
    """The requests of its resources."""
    limits: Resource
    """The limits of its resources."""
    image: str = ""
    """The image name."""
    ports: Sequence[Raw] = ()
    """The port entries, as read."""
    restart_always: bool = False
    """Whether it is an init container that keeps running (a sidecar)."""
    env: Raw = field(default_factory=dict)
    """The keys ``env`` and ``envFrom``, where the container has them."""


@dataclass(slots=True, eq=False)
class Pod:
    """One pod. ``request`` is the effective request, as the reader's family computes it."""

    uid: str
    """The uid of the object."""
    name: str
    """The pod's name."""
    namespace: str
    """Its namespace."""
    request: Resource
    """The effective request."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Its annotations."""
    created: float = 0.0
    """Epoch seconds; 0.0 when the manifest has no creationTimestamp."""
    deleted: float | None = None
    """Epoch seconds of the deletionTimestamp."""
    owner: str = ""
    """The uid of the controlling owner."""
    scheduler_name: str = ""
    """The scheduler that the pod asks for."""
    group: str = ""
    """Uid of the job (``namespace/podgroup``) that the pod says it belongs to; empty: none."""
    phase: str = "Pending"
    """The phase of its status."""
    node_name: str = ""
    """The node that it is bound to; empty: none."""
    nominated_node: str = ""
    """The nominated node of its status."""
    start_time: float | None = None
    """Epoch seconds of its start."""
    conditions: Sequence[Raw] = ()
    """The conditions of its status, as read."""
    priority: int | None = None
    """The priority in its spec."""
    priority_class: str = ""
    """The name of its priority class."""
    preemption_policy: str = ""
    """The preemption policy in its spec."""
    gates: tuple[str, ...] = ()
    """The names of its scheduling gates."""
    node_selector: Mapping[str, str] = field(default_factory=dict)
    """The labels that its node must have."""
    affinity: Raw = field(default_factory=dict)
    """The affinity in its spec, as read."""
    tolerations: Sequence[Raw] = ()
    """The tolerations in its spec, as read."""
    topology_spread: Sequence[Raw] = ()
    """The topology spread constraints in its spec, as read."""
    host_ports: tuple[tuple[str, str, int], ...] = ()
    """(protocol, host ip, port) of every host port; ip ``0.0.0.0`` means all."""
    volumes: Sequence[Raw] = ()
    """The volumes in its spec, as read."""
    resource_claims: Sequence[Raw] = ()
    """The resource claims in its spec, as read."""
    containers: Sequence[Container] = ()
    """Its containers."""
    init_containers: Sequence[Container] = ()
    """Its init containers."""
    qos: str = ""
    """The QoS class of its status."""
    status_override: str = ""
    """Label of the task status that the pod has whatever its phase; empty: as its phase says."""
    gpu_groups: tuple[str, ...] = ()
    """The groups of pods with which it shares GPUs; empty: as its labels say."""

    @property
    def key(self) -> str:
        """``namespace/name``."""
        return f"{self.namespace}/{self.name}"


@dataclass(slots=True, eq=False)
class Node:
    """One node as reported by the cluster."""

    name: str
    """The node's name."""
    allocatable: Resource
    """The resources for pods."""
    capacity: Resource
    """All resources of the node."""
    max_pods: int = 0
    """Most pods the node takes (allocatable ``pods``)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Its annotations."""
    taints: Sequence[Raw] = ()
    """Its taints, as read."""
    unschedulable: bool = False
    """Whether it is cordoned."""
    conditions: Mapping[str, str] = field(default_factory=dict)
    """Condition type → status (``True``, ``False``, ``Unknown``). Empty: the node is ready."""
    images: Sequence[Raw] = ()
    """The images that it has, as read."""
    created: float = 0.0
    """Epoch seconds of its creation."""


@dataclass(slots=True, eq=False)
class NetworkTopology:
    """How close together the tasks of a job must be."""

    mode: Literal["hard", "soft", ""] = ""
    """``hard``: must, ``soft``: should; empty: no topology."""
    highest_tier_allowed: int | None = None
    """The highest tier that may hold all tasks."""
    highest_tier_name: str = ""
    """The same tier by its name."""


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
    """The group's name."""
    namespace: str
    """Its namespace."""
    family: Literal["volcano", "kai"] = "volcano"
    """Whose kind of object it is."""
    queue: str = ""
    """The name of its queue."""
    min_member: int = 0
    """How many pods must run together."""
    min_task_member: Mapping[str, int] = field(default_factory=dict)
    """Role → how many pods of it must run."""
    min_resources: Resource | None = None
    """The resources that the group needs at least."""
    quota_min_resources: Mapping[str, float] = field(default_factory=dict)
    """``minResources`` by the names of the manifest, those that only a resource quota knows
    (``requests.cpu``) included."""
    priority: int | None = None
    """The value that wins over the priority class (KAI only)."""
    priority_class: str = ""
    """The name of its priority class."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Its annotations."""
    created: float = 0.0
    """Epoch seconds of its creation."""
    phase: str = ""
    """The phase of its status."""
    conditions: Sequence[Raw] = ()
    """The conditions of its status, as read."""
    network_topology: NetworkTopology | None = None
    """How close together its pods must be (Volcano)."""
    sub_group_policies: Sequence[SubGroupPolicy] = ()
    """Rules that split it into sub-jobs (Volcano)."""
    sub_groups: Sequence[SubGroup] = ()
    """Its named sub-groups (KAI)."""
    topology_constraint: Raw | None = None
    """Its topology constraint, as read (KAI)."""
    preemptibility: str = ""
    """``preemptible`` or ``non-preemptible``; empty: by priority (KAI)."""
    scheduling_backoff: int | None = None
    """How often it may fail before it is marked unschedulable (KAI)."""
    last_start: float | None = None
    """Epoch seconds at which the job last went from nothing to running (KAI annotation)."""
    stale_since: float | None = None
    """Epoch seconds since when the gang has been below its minimum (KAI annotation)."""
    mark_unschedulable: bool = True
    """Whether it is marked unschedulable when it fails (KAI)."""
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
    """The queue's name."""
    family: Literal["volcano", "kai"] = "volcano"
    """Whose kind of object it is."""
    parent: str = ""
    """The name of the queue above it; empty: none."""
    weight: int = 1
    """Its share of what is divided by weight."""
    priority: int = 0
    """Queues of higher priority are served first."""
    reclaimable: bool = True
    """Whether others may reclaim what it has beyond its deserved amount."""
    state: str = "Open"
    """``Open``, ``Closed`` or ``Closing``."""
    deserved: Resource | None = None
    """The amount that it is entitled to."""
    guarantee: Resource | None = None
    """The amount that is reserved for it."""
    limit: Resource | None = None
    """The amount that it may not exceed."""
    over_quota_weight: Resource | None = None
    """Its share of what is left once all have their quota (KAI)."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """Its annotations."""
    affinity: Raw = field(default_factory=dict)
    """Its affinity to node groups, as read (Volcano)."""
    display_name: str = ""
    """Its name for people."""
    preempt_min_runtime: float | None = None
    """Seconds that its jobs run before they are preempted (KAI)."""
    reclaim_min_runtime: float | None = None
    """Seconds that its jobs run before they are reclaimed (KAI)."""
    device_limits: Raw = field(default_factory=dict)
    """Volcano's ``deviceclass/…`` keys of capability, deserved and guarantee, as read."""
    created: float = 0.0
    """Epoch seconds of its creation."""
    children: list[str] = field(default_factory=list)
    """The names of the queues below it."""

    @property
    def is_open(self) -> bool:
        """Whether jobs of the queue may start."""
        return self.state == "Open"


@dataclass(slots=True, eq=False)
class PriorityClass:
    """A Kubernetes PriorityClass."""

    name: str
    """The class's name."""
    value: int
    """The priority that it stands for."""
    global_default: bool = False
    """Whether pods without a class get it."""
    preemption_policy: str = ""
    """``Never``: its pods preempt no other."""


@dataclass(slots=True, eq=False)
class DisruptionBudget:
    """A PodDisruptionBudget."""

    name: str
    """The budget's name."""
    namespace: str
    """Its namespace."""
    selector: Raw | None = None
    """The label selector of its pods."""
    disruptions_allowed: int = 0
    """How many pods may be evicted now."""
    disrupted_pods: frozenset[str] = frozenset()
    """Names of pods whose eviction is already counted."""


@dataclass(slots=True, eq=False)
class HyperNode:
    """A Volcano HyperNode: a group of nodes or of other hypernodes."""

    name: str
    """The hypernode's name."""
    tier: int
    """Its tier; 1 is the lowest."""
    tier_name: str = ""
    """The name of the tier, where it has one."""
    members: Sequence[Raw] = ()
    """The member entries, as read."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Its labels."""


@dataclass(slots=True, eq=False)
class ResourceQuota:
    """A Kubernetes ResourceQuota."""

    name: str
    """The quota's name."""
    namespace: str
    """Its namespace."""
    hard: Mapping[str, float] = field(default_factory=dict)
    """The limits by resource name."""
    used: Mapping[str, float] = field(default_factory=dict)
    """What is used by resource name."""
    raw: Raw = field(default_factory=dict)
    """The object, as read."""


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
    """Kinds kept as read (PersistentVolumeClaim, StorageClass, ResourceClaim, Topology,
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
