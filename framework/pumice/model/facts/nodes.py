"""Nodes, and hypernodes that group them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pumice.model.facts.raw import Raw
from pumice.model.resources import Resource


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
