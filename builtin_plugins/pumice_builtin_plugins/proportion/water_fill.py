"""Water filling, Volcano's rule: real amounts of all resources at once, guarantees as minimums.

KAI's rule (``fairshare/division``) differs: one resource at a time, quotas first, then whole
units by priority and usage-corrected weight.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import MIN_RESOURCE

_MAX_ROUNDS = 1000


def water_fill(
    total: np.ndarray,
    weights: Sequence[int],
    *,
    requests: np.ndarray,
    capabilities: np.ndarray,
    guarantees: np.ndarray,
    pods: int,
) -> np.ndarray:
    """What each queue deserves: one row per queue, one column per resource.

    Each round offers what remains to the unsatisfied queues by weight. A queue takes up to its
    request and its real capability, but at least its guarantee; what it leaves is offered again.
    A queue is satisfied when its request is met or a round gave it nothing. ``pods`` is the
    column that is ignored when it is decided whether anything remains.
    """
    deserved = np.zeros(requests.shape)
    unsatisfied = np.ones(len(weights), bool)
    weight = np.array(weights, float)
    remaining = total.astype(float)
    counted = np.arange(len(remaining)) != pods
    for _ in range(_MAX_ROUNDS):
        total_weight = float(weight[unsatisfied].sum())
        if not total_weight:
            break
        before = deserved[unsatisfied]
        offered = before + remaining * (weight[unsatisfied] / total_weight)[:, None]
        taken = np.minimum(np.minimum(offered, capabilities[unsatisfied]), requests[unsatisfied])
        after = np.maximum(taken, guarantees[unsatisfied])
        deserved[unsatisfied] = after
        gained = (after - before).sum(axis=0)
        met = (requests[unsatisfied] - after < MIN_RESOURCE).all(axis=1) | (after == before).all(
            axis=1
        )
        unsatisfied[np.flatnonzero(unsatisfied)[met]] = False
        left = np.maximum(remaining - gained, 0.0)
        if (left[counted] < MIN_RESOURCE).all() or (left == remaining).all():
            break
        remaining = left
    return deserved
