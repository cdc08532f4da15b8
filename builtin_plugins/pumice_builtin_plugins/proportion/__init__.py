"""Divide the cluster among queues by weight, within what each requests and may hold."""

from __future__ import annotations

from pumice_builtin_plugins.proportion.plugin import Proportion

__all__ = ["Proportion"]
