"""Queues of both families, and what bounds namespaces and priorities."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pumice.model.facts.raw import Raw
from pumice.model.resources import Resource


@dataclass(slots=True, eq=False)
class Queue:
    """A queue of either family. The reader fills what the kind has.

    ``limit`` is Volcano's capability and KAI's limit, ``deserved`` Volcano's deserved and KAI's
    quota. ``None`` means that the manifest does not bound it; a resource missing inside a
    :class:`Resource` means what the reader of its family says (KAI: zero; Volcano: not limited).
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
    api_group: str = ""
    """The API group of the object that it was read from; empty: it was made otherwise."""

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
