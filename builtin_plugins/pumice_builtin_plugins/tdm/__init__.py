"""Time division multiplexing: revocable nodes that batch tasks may use in a window of time."""

from __future__ import annotations

from pumice_builtin_plugins.tdm.plugin import Tdm

__all__ = ["Tdm"]
