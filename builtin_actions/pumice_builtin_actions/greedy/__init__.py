"""Building blocks of the task-by-task actions: allocate, backfill, preempt and reclaim."""
