"""The report of simulations: one HTML page without anything from outside."""

from __future__ import annotations

from pumice.simulation.report.page import page

__all__ = ["page"]
