"""Scores nodes as kube-scheduler does: resources, affinity, taints, images, topology spread."""

from __future__ import annotations

from pumice_builtin_plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
