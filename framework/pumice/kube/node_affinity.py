"""Node selectors and required node affinity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.kube.labels import matches_expression
from pumice.model.facts import Node, Pod


def matches_node(pod: Pod, node: Node) -> bool:
    """Whether a node satisfies a pod's node selector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    affinity = pod.affinity.get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def matches_term(term: Mapping[str, Any], node: Node) -> bool:
    """Whether a node satisfies one node selector term; an empty term matches nothing."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    node_fields = {"metadata.name": node.name}
    return all(matches_expression(e, node.labels) for e in expressions) and all(
        matches_expression(e, node_fields) for e in fields
    )
