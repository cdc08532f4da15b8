"""Place pods with exclusive CPUs where kubelet's topology manager will admit them."""

from __future__ import annotations

from pumice_builtin_plugins.numa_aware.plugin import NumaAware

__all__ = ["NumaAware"]
