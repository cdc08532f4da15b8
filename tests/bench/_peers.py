"""CPU seconds that the Go schedulers need for the same work, with the unit of their machine."""

from __future__ import annotations

UNIT = 0.122
"""CPU seconds of the unit of work (see run.py) where the figures were taken."""

_VOLCANO = "volcano"
_KAI = "kai"

CPU: dict[tuple[str, str, int, int, int, int], float] = {
    # family, kind, nodes, jobs, tasks of a job, GPUs of a task
    (_VOLCANO, "allocate", 100, 100, 10, 0): 1.4,
    (_VOLCANO, "allocate", 1000, 1000, 10, 0): 64.3,
    (_VOLCANO, "allocate", 1000, 10_000, 1, 0): 69.6,
    (_VOLCANO, "allocate", 5000, 1000, 10, 0): 74.2,
    (_VOLCANO, "allocate", 10_000, 1000, 10, 0): 77.8,
    (_VOLCANO, "reclaim", 100, 50, 1, 0): 0.024,
    (_VOLCANO, "reclaim", 1000, 500, 1, 0): 0.51,
    (_VOLCANO, "preempt", 100, 50, 1, 0): 0.037,
    (_VOLCANO, "preempt", 1000, 500, 1, 0): 0.96,
    (_KAI, "allocate", 100, 100, 8, 0): 0.36,
    (_KAI, "allocate", 1000, 1000, 8, 0): 40.0,
    (_KAI, "allocate", 1000, 8000, 1, 0): 46.6,
    (_KAI, "allocate", 5000, 1000, 8, 0): 268.0,
    (_KAI, "allocate", 1000, 1000, 8, 1): 36.6,
    (_KAI, "allocate", 1000, 8000, 1, 1): 49.8,
    (_KAI, "reclaim", 100, 50, 1, 1): 0.095,
    (_KAI, "reclaim", 500, 250, 1, 1): 4.3,
    (_KAI, "reclaim", 1000, 500, 1, 1): 23.0,
    (_KAI, "reclaim", 100, 50, 8, 1): 0.92,
    (_KAI, "reclaim", 500, 250, 8, 1): 35.9,
    (_KAI, "reclaim", 1000, 500, 8, 1): 128.0,
    (_KAI, "preempt", 100, 50, 1, 1): 0.086,
    (_KAI, "preempt", 500, 250, 1, 1): 4.0,
    (_KAI, "preempt", 1000, 500, 1, 1): 19.4,
    (_KAI, "preempt", 500, 250, 8, 1): 35.1,
    (_KAI, "consolidation", 50, 12, 1, 8): 0.46,
    (_KAI, "consolidation", 100, 25, 1, 8): 2.9,
    (_KAI, "consolidation", 200, 50, 1, 8): 22.2,
}
