"""Dominant resource fairness: the job or queue with the smallest dominant share goes first."""

from __future__ import annotations

from pumice_builtin_plugins.drf.plugin import Drf

__all__ = ["Drf"]
