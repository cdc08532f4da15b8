"""Filters nodes as KAI does: kinds of GPUs, room for pods, health, and kube-scheduler's filters."""

from __future__ import annotations

from pumice_builtin_plugins.kai_predicates.plugin import KaiPredicates

__all__ = ["KaiPredicates"]
