"""Node selector and node affinity of a pod."""

from __future__ import annotations

from typing import Any

import numpy as np

from pumice import Pod
from pumice_builtin_plugins.kube.label_columns import LabelColumns

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_MAX_WEIGHT = 100
"""The largest weight that the API server accepts."""


def _node_affinity(pod: Pod) -> Any:
    return pod.affinity.get("nodeAffinity") or {}


def required_nodes(pod: Pod, columns: LabelColumns) -> np.ndarray | None:
    """Mask over all nodes: those the pod's selector and required terms allow; None: all."""
    required = _node_affinity(pod).get(REQUIRED)
    if not pod.node_selector and required is None:
        return None
    mask = columns.labelled(pod.node_selector)
    return mask if required is None else mask & columns.selector(required)


def preferred_nodes(pod: Pod, columns: LabelColumns) -> np.ndarray | None:
    """Per node the weights of the preferred terms that match it; None: the pod has none."""
    preferences = _node_affinity(pod).get(PREFERRED)
    if not preferences:
        return None
    total = np.zeros(len(columns.table), np.int64)
    for preference in preferences:
        matched = columns.term(preference.get("preference") or {})
        total[matched] += min(max(preference.get("weight") or 0, 0), _MAX_WEIGHT)
    return total
