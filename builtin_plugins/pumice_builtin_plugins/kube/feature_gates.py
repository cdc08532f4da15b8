"""Feature gates of Kubernetes and Volcano, which upstream sets by a flag of its process."""

from __future__ import annotations

from collections.abc import Mapping

from pumice import Cluster


def is_enabled(cluster: Cluster, name: str, *, default: bool) -> bool:
    """Whether a feature is on; ``default`` where the cluster's facts do not say."""
    gates = cluster.extra.get("feature_gates")
    if not isinstance(gates, Mapping) or name not in gates:
        return default
    value = gates[name]
    return value.strip().lower() == "true" if isinstance(value, str) else bool(value)
