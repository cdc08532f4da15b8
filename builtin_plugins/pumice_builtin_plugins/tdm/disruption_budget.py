"""A job's own disruption budget: how many of its tasks may be evicted at once."""

from __future__ import annotations

import math
import re

from loguru import logger

from pumice import Job, TaskStatus

MIN_AVAILABLE = "volcano.sh/jdb-min-available"
MAX_UNAVAILABLE = "volcano.sh/jdb-max-unavailable"
_S = TaskStatus
_COUNT = re.compile(r"(\d+)(%?)", re.ASCII)
_DEFAULT = 1


def max_evictions(job: Job) -> int:
    """How many tasks may be evicted now; 1 for a job without a budget.

    minAvailable takes precedence over maxUnavailable. A malformed budget protects every task.
    Volcano's rule: a minAvailable that is not reached anyway counts as no budget.
    """
    annotations = job.group.annotations
    running, total = job.count(_S.RUNNING), len(job.tasks)
    if MIN_AVAILABLE in annotations:
        minimum = _count(job, MIN_AVAILABLE, total)
        if minimum is None:
            return 0
        return running - minimum if running >= minimum else _DEFAULT
    if MAX_UNAVAILABLE in annotations:
        maximum = _count(job, MAX_UNAVAILABLE, total)
        if maximum is None:
            return 0
        unavailable = total - job.count(_S.SUCCEEDED, _S.FAILED) - running
        return max(maximum - unavailable, 0)
    return _DEFAULT


def _count(job: Job, key: str, total: int) -> int | None:
    """A number, or a percentage of the job's tasks, rounded up."""
    text = job.group.annotations[key].strip()
    match = _COUNT.fullmatch(text)
    if match is None:
        logger.warning(
            "pod group {}: {} is {!r}, which is no number or percentage (examples: 2, 50%); "
            "none of its tasks is evicted",
            job.uid,
            key,
            text,
        )
        return None
    number = int(match[1])
    return math.ceil(number * total / 100) if match[2] else number
