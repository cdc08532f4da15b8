"""The solver: prove by simulating a whole job that an eviction helps, before anybody is evicted.

An action gives it a job, where to look, who may be a victim and who must agree; it answers with a
statement that holds the evictions and the promises, ready to be committed.
"""

from __future__ import annotations

from pumice.solver.failed_jobs import FailedJobs
from pumice.solver.plan import Plan, VictimGroup, VictimJob
from pumice.solver.search import Solver

__all__ = ["FailedJobs", "Plan", "Solver", "VictimGroup", "VictimJob"]
