"""The solver: simulates evictions for a whole job before any task is evicted.

An action gives it a job, the candidate nodes, the candidate victims and a validator; it answers
with a statement that holds the evictions and the pipelined tasks, ready to be committed.
"""

from __future__ import annotations

from pumice.session.domains import rows_beside_job
from pumice.solver.failed_jobs import FailedJobs
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.options import QueueDepthOptions
from pumice.solver.plan import Plan, VictimGroup, VictimJob
from pumice.solver.prospects import Prospects
from pumice.solver.queue_tree import QueueTree
from pumice.solver.ranked_jobs import RankedJobs
from pumice.solver.search import Solver
from pumice.solver.task_batches import TaskBatches

__all__ = [
    "FailedJobs",
    "GangPlacer",
    "Plan",
    "Prospects",
    "QueueDepthOptions",
    "QueueTree",
    "RankedJobs",
    "Solver",
    "TaskBatches",
    "VictimGroup",
    "VictimJob",
    "rows_beside_job",
]
