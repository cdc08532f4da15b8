"""Scores nodes as kube-scheduler does: how full they are, wishes, taints, images, spread."""

from __future__ import annotations

from pumice_builtin_plugins.nodeorder.plugin import NodeOrder

__all__ = ["NodeOrder"]
