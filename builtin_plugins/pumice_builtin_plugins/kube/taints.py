"""Taints of nodes and tolerations of pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from pumice import NodeTable

Taint = Mapping[str, Any]
_UNSCHEDULABLE: Taint = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def tolerates(toleration: Mapping[str, Any], taint: Taint) -> bool:
    """Whether one toleration covers one taint; what it leaves empty covers anything."""
    effect, key = toleration.get("effect"), toleration.get("key")
    if (effect and effect != taint.get("effect")) or (key and key != taint.get("key")):
        return False
    match toleration.get("operator") or "Equal":
        case "Equal":
            return (toleration.get("value") or "") == (taint.get("value") or "")
        case "Exists":
            return True
    return False


def tolerated(taint: Taint, tolerations: Iterable[Mapping[str, Any]]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates_unschedulable(tolerations: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the pod may go to nodes that are closed for others."""
    return tolerated(_UNSCHEDULABLE, tolerations)


def first_barrier(
    taints: Sequence[Taint], tolerations: Sequence[Mapping[str, Any]]
) -> Taint | None:
    """The first taint that keeps the pod off the node."""
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations):
            return taint
    return None


def count_unwelcome(taints: Sequence[Taint], tolerations: Sequence[Mapping[str, Any]]) -> int:
    """How many taints would rather not have the pod."""
    return sum(
        taint.get("effect") == "PreferNoSchedule" and not tolerated(taint, tolerations)
        for taint in taints
    )


class TaintGroups:
    """The nodes that have taints, those with the same ones together."""

    def __init__(self, table: NodeTable) -> None:
        self._count = len(table)
        rows: dict[str, list[int]] = {}
        taints: dict[str, Sequence[Taint]] = {}
        texts: dict[int, str] = {}
        tainted = table.fact_column("tainted", lambda node: bool(node.taints), lasting=True)
        for row in np.flatnonzero(tainted).tolist():
            given = table.facts[row].taints
            key = texts.get(id(given))
            if key is None:
                key = texts[id(given)] = json.dumps(list(given), sort_keys=True, default=str)
            rows.setdefault(key, []).append(row)
            taints[key] = given
        self._groups = [(taints[key], np.array(found)) for key, found in rows.items()]

    def column(self, value: Callable[[Sequence[Taint]], int]) -> np.ndarray:
        """A number for each node that depends on its taints; 0 for nodes without."""
        result = np.zeros(self._count, np.int64)
        for taints, rows in self._groups:
            result[rows] = value(taints)
        return result

    def barred(self, tolerations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Mask over all nodes: those whose taints keep the pod off."""
        column = self.column(lambda taints: first_barrier(taints, tolerations) is not None)
        return column.astype(bool)

    def unwelcome(self, tolerations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Per node the number of taints that would rather not have the pod."""
        return self.column(lambda taints: count_unwelcome(taints, tolerations))
