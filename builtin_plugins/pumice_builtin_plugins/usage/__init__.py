"""Keep away from nodes that are measured to be busy."""

from __future__ import annotations

from pumice_builtin_plugins.usage.plugin import Usage

__all__ = ["Usage"]
