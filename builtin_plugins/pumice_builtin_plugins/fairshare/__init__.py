"""Fair shares of CPU, memory and GPUs in a tree of queues: order, limits and reclaim."""

from __future__ import annotations

from pumice_builtin_plugins.fairshare.plugin import FairShare

__all__ = ["FairShare"]
