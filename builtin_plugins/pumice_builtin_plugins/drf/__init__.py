"""Dominant resource fairness: who holds the smallest part of the cluster goes first."""

from __future__ import annotations

from pumice_builtin_plugins.drf.plugin import Drf

__all__ = ["Drf"]
