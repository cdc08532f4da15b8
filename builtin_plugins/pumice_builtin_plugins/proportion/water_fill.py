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
    remaining = total.astype(float)
    counted = np.arange(len(remaining)) != pods
    # The unsatisfied queues: their rows, and what of the arguments is about them.
    rows, weight, before = np.arange(len(weights)), np.array(weights, float), deserved.copy()
    request, minimum, most = requests, guarantees, np.minimum(capabilities, requests)
    satisfied = True
    for _ in range(_MAX_ROUNDS):
        if satisfied:
            total_weight = float(weight.sum())
            if not total_weight:
                break
            parts = (weight / total_weight)[:, None]
        after = np.maximum(np.minimum(before + remaining * parts, most), minimum)
        deserved[rows] = after
        left = np.maximum(remaining - (after - before).sum(axis=0), 0.0)
        met = (request - after < MIN_RESOURCE).all(axis=1) | (after == before).all(axis=1)
        satisfied = bool(met.any())
        if satisfied:
            stay = ~met
            rows, weight, after = rows[stay], weight[stay], after[stay]
            request, minimum, most = request[stay], minimum[stay], most[stay]
        if (left[counted] < MIN_RESOURCE).all() or (left == remaining).all():
            break
        remaining, before = left, after
    return deserved
