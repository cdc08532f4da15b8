"""Serves the state that a cycle started from, for inspection or replay."""

from __future__ import annotations

from pumice_builtin_plugins.snapshot.plugin import Snapshot

__all__ = ["Snapshot"]
