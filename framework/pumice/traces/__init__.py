"""Traces of jobs: what a simulation replays, and the readers of their formats."""

from __future__ import annotations

from pumice.traces.reader import ReadProblems, TraceReader, read_trace
from pumice.traces.trace import Trace, TraceError, TraceJob

__all__ = ["ReadProblems", "Trace", "TraceError", "TraceJob", "TraceReader", "read_trace"]
