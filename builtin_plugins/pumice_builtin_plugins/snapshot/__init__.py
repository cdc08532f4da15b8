"""Hands out the state that a cycle started from, to look at or to decide again elsewhere."""

from __future__ import annotations

from pumice_builtin_plugins.snapshot.plugin import Snapshot

__all__ = ["Snapshot"]
