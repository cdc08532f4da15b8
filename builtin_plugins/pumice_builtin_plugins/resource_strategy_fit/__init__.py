"""Binpack some resources and spread others; keep scarce resources for tasks that need them."""

from __future__ import annotations

from pumice_builtin_plugins.resource_strategy_fit.plugin import ResourceStrategyFit

__all__ = ["ResourceStrategyFit"]
