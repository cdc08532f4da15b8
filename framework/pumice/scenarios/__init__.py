"""Scenario files, unit tests of a policy: finding, reading, running and checking them."""

from __future__ import annotations

from pumice.scenarios.files import find_files, read_file
from pumice.scenarios.outcome import Mismatch, Result
from pumice.scenarios.runner import Runner
from pumice.scenarios.scenario import Expect, Scenario, TaskState

__all__ = [
    "Expect",
    "Mismatch",
    "Result",
    "Runner",
    "Scenario",
    "TaskState",
    "find_files",
    "read_file",
]
