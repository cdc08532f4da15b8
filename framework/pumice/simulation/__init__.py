"""Simulation: a trace of jobs replayed on the embedded cluster by the scheduler itself."""

from __future__ import annotations

from pumice.simulation.engine import Settings, Simulation
from pumice.simulation.record import EvictionRecord, JobRecord, Record

__all__ = ["EvictionRecord", "JobRecord", "Record", "Settings", "Simulation"]
