"""Every extension point, grouped by concern: signature, meaning, how answers combine."""

from __future__ import annotations

from types import MappingProxyType

from pumice.hookspecs._point import PROJECT, ExtensionPoint, extension_point, is_point, read_points
from pumice.hookspecs.capacity import CapacitySpecs
from pumice.hookspecs.eviction import EvictionSpecs
from pumice.hookspecs.gang import GangSpecs
from pumice.hookspecs.lifecycle import LifecycleSpecs
from pumice.hookspecs.nodes import NodeSpecs
from pumice.hookspecs.ordering import OrderingSpecs
from pumice.hookspecs.simulation import SimulationSpecs

SPECS: tuple[type, ...] = (
    LifecycleSpecs,
    OrderingSpecs,
    GangSpecs,
    CapacitySpecs,
    NodeSpecs,
    EvictionSpecs,
    SimulationSpecs,
)

POINTS = MappingProxyType({point.name: point for spec in SPECS for point in read_points(spec)})
"""The framework's extension points by name, in the order a cycle meets them.

A catalog adds those that installed distributions declare: see ``Catalog.points``.
"""

__all__ = [
    "POINTS",
    "PROJECT",
    "SPECS",
    "ExtensionPoint",
    "extension_point",
    "is_point",
    "read_points",
]
