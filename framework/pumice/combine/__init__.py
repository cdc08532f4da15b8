"""The combination rules: how the answers of several plugins become one.

A rule is stateless. Its :meth:`Rule.compile` takes the enabled implementations of one extension
point, tier by tier in policy order, and gives the one function that a session calls. Every rule
states what the answer is when no plugin implements the point.
"""

from __future__ import annotations

from pumice.combine.base import (
    ABSTAIN,
    PERMIT,
    REJECT,
    SKIP,
    Answer,
    Check,
    Impl,
    OnError,
    Rule,
    Skip,
    Tiers,
    fail,
    plugin_error,
)
from pumice.combine.first import Compare, First, FirstError, FirstPlugin
from pumice.combine.notify import Notify, NotifyAll
from pumice.combine.sums import Fold, Merge, PerPlugin, Sum, SumByKey
from pumice.combine.votes import (
    All,
    Any_,
    FirstTierAll,
    TieredIntersection,
    UnionOfFirstTier,
    Vote,
)

RULES: tuple[type[Rule], ...] = (
    Compare, All, Any_, Vote, TieredIntersection, FirstTierAll, First, FirstPlugin, Sum, SumByKey,
    Merge, PerPlugin, Fold, Notify, NotifyAll, FirstError, UnionOfFirstTier,
)  # fmt: skip
"""All rules, in the order of the reference page."""

__all__ = [
    "ABSTAIN",
    "PERMIT",
    "REJECT",
    "RULES",
    "SKIP",
    "All",
    "Answer",
    "Any_",
    "Check",
    "Compare",
    "First",
    "FirstError",
    "FirstPlugin",
    "FirstTierAll",
    "Fold",
    "Impl",
    "Merge",
    "Notify",
    "NotifyAll",
    "OnError",
    "PerPlugin",
    "Rule",
    "Skip",
    "Sum",
    "SumByKey",
    "TieredIntersection",
    "Tiers",
    "UnionOfFirstTier",
    "Vote",
    "fail",
    "plugin_error",
]
