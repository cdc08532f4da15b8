"""Pods that ask for GPUs, or for parts of them, go where the cards can be found."""

from __future__ import annotations

from pumice_builtin_plugins.deviceshare.plugin import DeviceShare

__all__ = ["DeviceShare"]
