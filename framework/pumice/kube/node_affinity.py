"""Whether a node has the labels that a pod insists on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pumice.kube.labels import matches_expression
from pumice.model.facts import Node, Pod


def matches_node(pod: Pod, node: Node) -> bool:
    """Node selector and required node affinity."""
    if any(node.labels.get(key) != value for key, value in pod.node_selector.items()):
        return False
    affinity = pod.affinity.get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(matches_term(term, node) for term in required.get("nodeSelectorTerms") or ())


def matches_term(term: Mapping[str, Any], node: Node) -> bool:
    """One term: all its expressions over labels and fields; an empty term matches nothing."""
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    named = {"metadata.name": node.name}
    return all(matches_expression(e, node.labels) for e in expressions) and all(
        matches_expression(e, named) for e in fields
    )
