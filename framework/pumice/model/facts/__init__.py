"""Facts read from manifests: what a backend knows of each object, before any decision.

Facts are shared between cycles and never changed by a session. A session builds its own
mutable :class:`~pumice.model.task.Task`, :class:`~pumice.model.job.Job` and node table from them.
"""

from __future__ import annotations

from pumice.model.facts.evictions import (
    EvictionLog,
    PastEviction,
    Reservation,
    ReservedTask,
)
from pumice.model.facts.groups import NetworkTopology, PodGroup, SubGroup, SubGroupPolicy
from pumice.model.facts.inventory import Inventory, Problem
from pumice.model.facts.nodes import HyperNode, Node
from pumice.model.facts.pods import Container, Pod
from pumice.model.facts.queues import DisruptionBudget, PriorityClass, Queue, ResourceQuota
from pumice.model.facts.raw import UNLIMITED, Raw

__all__ = [
    "UNLIMITED",
    "Container",
    "DisruptionBudget",
    "EvictionLog",
    "HyperNode",
    "Inventory",
    "NetworkTopology",
    "Node",
    "PastEviction",
    "Pod",
    "PodGroup",
    "PriorityClass",
    "Problem",
    "Queue",
    "Raw",
    "Reservation",
    "ReservedTask",
    "ResourceQuota",
    "SubGroup",
    "SubGroupPolicy",
]
