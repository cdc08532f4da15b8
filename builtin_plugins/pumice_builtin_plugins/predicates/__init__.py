"""Filters nodes as kube-scheduler does: labels, taints, ports, pods elsewhere, volumes, devices."""

from __future__ import annotations

from pumice_builtin_plugins.predicates.plugin import Predicates

__all__ = ["Predicates"]
