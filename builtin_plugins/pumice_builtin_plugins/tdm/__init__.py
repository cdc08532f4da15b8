"""Time division: nodes that batch work may use by day or by night, and must leave after."""

from __future__ import annotations

from pumice_builtin_plugins.tdm.plugin import Tdm

__all__ = ["Tdm"]
