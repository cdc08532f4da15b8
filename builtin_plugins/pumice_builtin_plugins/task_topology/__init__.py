"""Tasks of roles that talk to each other share a node; roles that disturb each other do not."""

from __future__ import annotations

from pumice_builtin_plugins.task_topology.plugin import TaskTopology

__all__ = ["TaskTopology"]
