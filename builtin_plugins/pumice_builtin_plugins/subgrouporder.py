"""Pod sets of a job grow evenly, relative to their minimums."""

from __future__ import annotations

from pumice import Plugin, SubJob, hookimpl
from pumice.gang import active_count


class SubGroupOrder(Plugin):
    """Pod sets below their minimum first, then by ``active / minimum``, the smallest first.

    Victims are taken in the reverse order: the pod set with the largest ratio shrinks first.
    """

    @hookimpl
    def pod_set_order(self, left: SubJob, right: SubJob) -> int:
        l_active, r_active = active_count(left), active_count(right)
        l_below, r_below = l_active < left.min_available, r_active < right.min_available
        if l_below or r_below:
            return r_below - l_below
        # active / minimum, multiplied out
        return l_active * right.min_available - r_active * left.min_available
