"""From time to time, let pods leave the busiest nodes so that idle ones can take them."""

from __future__ import annotations

from pumice_builtin_plugins.rescheduling.plugin import Rescheduling

__all__ = ["Rescheduling"]
