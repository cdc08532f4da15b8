"""Place pods that request GPUs, or parts of them, and assign them single cards."""

from __future__ import annotations

from pumice_builtin_plugins.deviceshare.plugin import DeviceShare

__all__ = ["DeviceShare"]
