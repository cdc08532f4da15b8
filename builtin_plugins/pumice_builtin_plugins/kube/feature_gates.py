"""Feature gates of Kubernetes and Volcano, which upstream sets by a flag of its process."""

from __future__ import annotations

from pumice import Cluster


def is_enabled(cluster: Cluster, name: str, *, default: bool) -> bool:
    """Whether a feature is on; ``default`` where the cluster's facts do not say."""
    value = cluster.inventory.feature_gates.get(name, default)
    return value.strip().lower() == "true" if isinstance(value, str) else bool(value)
