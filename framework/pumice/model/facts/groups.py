"""Pod groups of both families: the gangs that jobs are made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pumice.model.facts.raw import Raw
from pumice.model.resources import Resource


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
    api_group: str = ""
    """The API group of the object that it was read from; empty: it was made otherwise."""
    workload: str = ""
    """The Workload that it was made from (Kubernetes' own API)."""
