"""What can be violated, and which of it applies to a policy."""

from __future__ import annotations

from dataclasses import dataclass

KINDS = {
    "node-capacity": "node over capacity",
    "filter": "filter broken at a bind",
    "gang-bound": "gang bound below its minimum",
    "best-effort-gang": "gang of pods without requests bound below its minimum",
    "queue-limit": "queue over its limit",
    "closed-queue": "pod of a queue that is not open placed",
    "protected": "protected pod evicted",
    "budget": "disruption budget exceeded",
    "min-runtime": "evicted within its minimum runtime",
    "within-share": "reclaim from a queue at or below its share",
    "leaf-within-share": "reclaim from a leaf queue at or below its share, its parent being above",
    "promise": "promise on a node that cannot take the pod",
    "promise-limit": "promise beyond the limit of a queue",
    "promise-lost": "promise with evictions that is not bound in the next cycle",
    "no-plan": "eviction for a gang that is not completely placed",
    "gang-broken": "gang left between 1 and its minimum",
    "spareable": "victim that could have been spared",
    "spareable-share": "victim that only the share of its queue required",
    "needless": "eviction for a gang that fits elsewhere without one",
    "bound-and-evicted": "pod bound and evicted in one cycle",
    "still-evicting": "evictions in the last cycles without a change of demand",
    "mutual": "two gangs that evict each other",
    "repeated": "pod evicted again for the same gang",
}
"""Every kind of violation, and what it means."""
ADVISORY = frozenset(
    {
        "leaf-within-share",
        "needless",
        "spareable-share",
        "promise-lost",
        "repeated",
    }
)
"""Kinds that are reported but no promise of the policy."""


@dataclass(slots=True, frozen=True)
class Violation:
    """Something that a cycle must not do."""

    kind: str
    cycle: int
    detail: str


@dataclass(slots=True, frozen=True)
class Rules:
    """Which of the checks apply to the policy."""

    tree: bool = True
    """Parents of Volcano queues count."""
    min_runtime: bool = True
    budgets: bool = True
    quotas: bool = False
    """What Volcano queues state as deserved comes before the division by weight."""
    deserved_is_limit: bool = False
    """Volcano queues may not take more than they deserve."""
    gpus_of_100_mib: bool = False
    """KAI's count of pending pods that ask for GPU memory."""
