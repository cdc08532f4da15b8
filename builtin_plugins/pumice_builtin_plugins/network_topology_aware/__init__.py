"""Place the tasks of a job close together in the network."""

from __future__ import annotations

from pumice_builtin_plugins.network_topology_aware.plugin import NetworkTopologyAware

__all__ = ["NetworkTopologyAware"]
