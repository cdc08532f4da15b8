"""Kubernetes label selectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def matches_selector(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether labels satisfy a LabelSelector; None matches nothing, an empty one everything."""
    if selector is None:
        return False
    required = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in required.items()):
        return False
    return all(
        matches_expression(expression, labels)
        for expression in selector.get("matchExpressions") or ()
    )


def matches_expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """One requirement: In, NotIn, Exists, DoesNotExist, and the node operators Gt and Lt."""
    key, operator = expression.get("key", ""), expression.get("operator", "")
    values: Sequence[str] = expression.get("values") or ()
    present = key in labels
    match operator:
        case "In":
            return present and labels[key] in values
        case "NotIn":
            return not present or labels[key] not in values
        case "Exists":
            return present
        case "DoesNotExist":
            return not present
        case "Gt" | "Lt":
            try:
                actual, bound = int(labels[key]), int(values[0])
            except (KeyError, ValueError, IndexError):
                return False
            return actual > bound if operator == "Gt" else actual < bound
    return False
