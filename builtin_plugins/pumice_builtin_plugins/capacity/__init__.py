"""Queues with capability, deserved and guarantee, flat or in a tree."""

from __future__ import annotations

from pumice_builtin_plugins.capacity.plugin import Capacity

__all__ = ["Capacity"]
