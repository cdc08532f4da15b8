"""Periodically evict pods from the busiest nodes so that they move to idle ones."""

from __future__ import annotations

from pumice_builtin_plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling"]
