"""Jobs below minAvailable first, jobs above it last."""

from __future__ import annotations

from pumice import Job, Plugin, hookimpl
from pumice.gang import active_count

_BELOW, _EXACT, _ABOVE = range(3)


class Elastic(Plugin):
    """Order jobs below their minimum before jobs at it, and these before jobs above it.

    Victims are taken in the reverse order: tasks beyond a job's minimum are evicted first.
    """

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return _state(left) - _state(right)

    @hookimpl
    def job_order_key(self, job: Job) -> int:
        return _state(job)


def _state(job: Job) -> int:
    """Below: some pod set is below its minimum; above: none is, and one is above."""
    state = _EXACT
    for pod_set in job.sub_jobs.values():
        surplus = active_count(pod_set) - pod_set.min_available
        if surplus < 0:
            return _BELOW
        if surplus:
            state = _ABOVE
    return state
