"""Water filling: share what a cluster has among queues by weight, none beyond what it asks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pumice import MIN_RESOURCE

_MOST_ROUNDS = 1000


def water_fill(
    total: np.ndarray,
    weights: Sequence[int],
    *,
    requests: np.ndarray,
    bounds: np.ndarray,
    floors: np.ndarray,
    pods: int,
) -> np.ndarray:
    """What each queue deserves: one row per queue, one column per resource.

    In every round what remains is offered to the unsatisfied queues by weight. A queue takes up
    to its request and its bound, and never less than its floor; what it leaves is offered again.
    A queue is satisfied when its request is met or another round gave it nothing. ``pods`` is
    the column that does not count when it is asked whether anything remains.
    """
    deserved = np.zeros(requests.shape)
    unmet = np.ones(len(weights), bool)
    weight = np.array(weights, float)
    remaining = total.astype(float)
    counted = np.arange(len(remaining)) != pods
    for _ in range(_MOST_ROUNDS):
        whole = float(weight[unmet].sum())
        if not whole:
            break
        before = deserved[unmet]
        offered = before + remaining * (weight[unmet] / whole)[:, None]
        taken = np.minimum(np.minimum(offered, bounds[unmet]), requests[unmet])
        after = np.maximum(taken, floors[unmet])
        deserved[unmet] = after
        gained = (after - before).sum(axis=0)
        met = (requests[unmet] - after < MIN_RESOURCE).all(axis=1) | (after == before).all(axis=1)
        unmet[np.flatnonzero(unmet)[met]] = False
        left = np.maximum(remaining - gained, 0.0)
        if (left[counted] < MIN_RESOURCE).all() or (left == remaining).all():
            break
        remaining = left
    return deserved
