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
    """Whether one toleration matches one taint; an empty key or effect matches any."""
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
    """Whether the pod tolerates nodes that are marked unschedulable."""
    return tolerated(_UNSCHEDULABLE, tolerations)


def first_untolerated(
    taints: Sequence[Taint], tolerations: Sequence[Mapping[str, Any]]
) -> Taint | None:
    """The first NoSchedule or NoExecute taint that the pod does not tolerate."""
    for taint in taints:
        if taint.get("effect") in ("NoSchedule", "NoExecute") and not tolerated(taint, tolerations):
            return taint
    return None


def count_preferred(taints: Sequence[Taint], tolerations: Sequence[Mapping[str, Any]]) -> int:
    """How many PreferNoSchedule taints the pod does not tolerate."""
    return sum(
        taint.get("effect") == "PreferNoSchedule" and not tolerated(taint, tolerations)
        for taint in taints
    )


class TaintGroups:
    """The nodes that have taints, grouped by equal taints."""

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
        self._groups = [(taints[key], np.array(listed)) for key, listed in rows.items()]

    def column(self, value: Callable[[Sequence[Taint]], int]) -> np.ndarray:
        """A column over all nodes of a number that depends on the taints; 0 without taints."""
        result = np.zeros(self._count, np.int64)
        for taints, rows in self._groups:
            result[rows] = value(taints)
        return result

    def untolerated(self, tolerations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Mask over all nodes: those with a NoSchedule or NoExecute taint that is not tolerated."""
        column = self.column(lambda taints: first_untolerated(taints, tolerations) is not None)
        return column.astype(bool)

    def untolerated_preferred(self, tolerations: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Per node the number of PreferNoSchedule taints that are not tolerated."""
        return self.column(lambda taints: count_preferred(taints, tolerations))
