"""Pods as the API server reports them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pumice.model.facts.raw import Raw
from pumice.model.resources import Resource


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
