"""KAI's scheduler configuration as a policy that decides the same."""

from __future__ import annotations

from pumice.config.importers.kai.policy import import_kai

__all__ = ["import_kai"]
