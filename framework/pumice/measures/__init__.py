"""Measures of a simulation: how long jobs wait, what is lost, how fair it was."""

from __future__ import annotations

from pumice.measures.measure import Measure, measure_all, percentiles
from pumice.measures.series import Steps

__all__ = ["Measure", "Steps", "measure_all", "percentiles"]
