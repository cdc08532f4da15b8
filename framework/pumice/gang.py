"""Gangs: minimums of roles and sub-jobs, and how much of a gang holds room."""

from __future__ import annotations

from pumice.model.families.kai.pod_sets import SubGroupSet
from pumice.model.gang import (
    active_count,
    active_tasks,
    counts_roles,
    has_minimum,
    has_pending,
    is_elastic,
    is_ready_task,
    is_ready_to_schedule,
    roles_pipelined,
    roles_ready,
    roles_valid,
    sub_jobs_pipelined,
    sub_jobs_ready,
    sub_jobs_valid,
    used_count,
)

__all__ = [
    "SubGroupSet",
    "active_count",
    "active_tasks",
    "counts_roles",
    "has_minimum",
    "has_pending",
    "is_elastic",
    "is_ready_task",
    "is_ready_to_schedule",
    "roles_pipelined",
    "roles_ready",
    "roles_valid",
    "sub_jobs_pipelined",
    "sub_jobs_ready",
    "sub_jobs_valid",
    "used_count",
]
