"""Avoid nodes with a high measured load."""

from __future__ import annotations

from pumice_builtin_plugins.usage.plugin import Usage

__all__ = ["Usage"]
