"""What the task-by-task actions (allocate, backfill, preempt, reclaim) are made of."""
