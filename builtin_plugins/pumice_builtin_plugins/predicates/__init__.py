"""Filters nodes as kube-scheduler does: node and pod affinity, taints, ports, volumes, DRA."""

from __future__ import annotations

from pumice_builtin_plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
