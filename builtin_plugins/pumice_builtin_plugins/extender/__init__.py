"""Lets an HTTP service of one's own answer for a plugin, as Volcano's extenders do."""

from __future__ import annotations

from pumice_builtin_plugins.extender.plugin import Extender

__all__ = ["Extender"]
