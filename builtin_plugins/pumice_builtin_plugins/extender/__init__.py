"""Asks an HTTP service of the user, by the protocol of Volcano's extenders."""

from __future__ import annotations

from pumice_builtin_plugins.extender.plugin import Extender

__all__ = ["Extender"]
