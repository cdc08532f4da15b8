"""Kubernetes' label selectors, node affinity, node health, patterns and quantities."""

from __future__ import annotations

from pumice.kube.labels import matches_expression, matches_selector
from pumice.kube.node_affinity import matches_node, matches_term
from pumice.kube.node_health import is_healthy
from pumice.kube.patterns import pattern
from pumice.model.quantity import PODS, amount, milli, quantity_of, shown, units

__all__ = [
    "PODS",
    "amount",
    "is_healthy",
    "matches_expression",
    "matches_node",
    "matches_selector",
    "matches_term",
    "milli",
    "pattern",
    "quantity_of",
    "shown",
    "units",
]
