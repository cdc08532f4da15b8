"""The shortcut of the plugins that count pods for affinity and topology spread."""

from __future__ import annotations

from pumice import Shortcut

POD_COUNTS = Shortcut(
    "pod_counts",
    "the pods that a term of affinity or topology spread selects are counted as they come and go",
    "they are counted on all nodes for every query",
)
