"""Place the tasks of a sub-group close together in a topology of node labels."""

from __future__ import annotations

from pumice_builtin_plugins.topology.plugin import TopologyPlugin

__all__ = ["TopologyPlugin"]
