"""The rows of the API's tables."""

from __future__ import annotations

from typing import Any

from pumice.model.quantity import shown
from pumice.serve.history import History
from pumice.serve.views import STATES, CycleView, EvictionRow, JobRow
from pumice.telemetry.queues import QueueRow

MOST_LISTED = 100
"""Tasks that an answer lists; the rest is counted."""

Data = dict[str, Any]


def cycle_row(history: History, view: CycleView) -> Data:
    """What was decided in a cycle."""
    return {
        "cycle": view.cycle,
        "bound": view.bound,
        "pipelined": view.pipelined,
        "evicted": sum(len(row.tasks) for row in view.evictions),
        "jobs": len(view.jobs),
        "states": {state: view.states[state] for state in STATES},
        "nodes": len(view.nodes.names),
        "faults": view.faults,
        "explainable": history.explainable(view.cycle),
    }


def queue_row(row: QueueRow, resource: str, column: int) -> Data:
    """A queue with its amounts of one resource, as numbers and for people."""
    amounts: dict[str, float | None] = {
        "deserved": row.deserved.get(resource),
        "allocated": int(row.allocated[column]),
        "request": int(row.request[column]),
        "limit": row.limit.get(resource),
        "fair_share": row.fair_share.get(resource),
    }
    return {
        "queue": row.queue,
        "parent": row.parent,
        "depth": row.depth,
        "state": row.state,
        "weight": row.weight,
        "share": row.share,
        "share_of": row.share_of,
        "jobs": row.jobs,
        "waiting": row.waiting,
        "amounts": amounts,
        "texts": {
            name: shown(resource, amount) for name, amount in amounts.items() if amount is not None
        },
    }


def job_row(row: JobRow) -> Data:
    """A job at the end of the cycle."""
    return {
        "job": row.job,
        "queue": row.queue,
        "state": row.state,
        "phase": row.phase,
        "ready": row.ready,
        "pending": row.pending,
        "tasks": row.tasks,
        "minimum": row.minimum,
        "code": row.code,
        "reason": row.reason,
    }


def eviction_row(row: EvictionRow) -> Data:
    """Who lost tasks, and for whom."""
    return {
        "cycle": row.cycle,
        "job": row.job,
        "queue": row.queue,
        "for": row.claimant,
        "for_queue": row.claimant_queue,
        "action": row.action,
        "reason": row.reason,
        "count": len(row.tasks),
        "tasks": row.tasks[:MOST_LISTED],
        "nodes": row.nodes[:MOST_LISTED],
    }
