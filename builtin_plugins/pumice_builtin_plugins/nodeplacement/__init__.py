"""Pack nodes or spread over them, by GPUs for tasks that need some and by CPU for others."""

from __future__ import annotations

from pumice_builtin_plugins.nodeplacement.plugin import NodePlacement

__all__ = ["NodePlacement"]
