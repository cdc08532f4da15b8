"""Jobs below their minimum first, jobs beyond it last."""

from __future__ import annotations

from pumice import Job, Plugin, hookimpl
from pumice.gang import active_count

_BELOW, _EXACT, _ABOVE = range(3)


class Elastic(Plugin):
    """Serve jobs that lack part of their minimum before those that only want to grow.

    Among victims it is the other way round: what a job has beyond its minimum goes first.
    """

    @hookimpl
    def job_order(self, left: Job, right: Job) -> int:
        return _state(left) - _state(right)

    @hookimpl
    def job_order_key(self, job: Job) -> int:
        return _state(job)


def _state(job: Job) -> int:
    """Whether some pod set is below its minimum, else whether one is above."""
    state = _EXACT
    for pod_set in job.sub_jobs.values():
        surplus = active_count(pod_set) - pod_set.min_available
        if surplus < 0:
            return _BELOW
        if surplus:
            state = _ABOVE
    return state
