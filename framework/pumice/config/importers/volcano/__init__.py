"""Volcano's scheduler configuration as a policy that decides the same."""

from __future__ import annotations

from pumice.config.importers.volcano.policy import import_volcano, translate_volcano

__all__ = ["import_volcano", "translate_volcano"]
