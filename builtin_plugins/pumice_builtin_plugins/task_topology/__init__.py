"""Place tasks of a job by affinity and anti-affinity between their roles."""

from __future__ import annotations

from pumice_builtin_plugins.task_topology.plugin import TaskTopology

__all__ = ["TaskTopology"]
