"""Feature gates: what upstream switches by a flag of its process, here a fact of the cluster."""

from __future__ import annotations

from collections.abc import Mapping

from pumice import Session


def gate(session: Session, name: str, *, default: bool) -> bool:
    """Whether a feature is on, as the cluster's ``feature_gates`` tell."""
    gates = session.cluster.extra.get("feature_gates")
    if not isinstance(gates, Mapping) or name not in gates:
        return default
    value = gates[name]
    return value.strip().lower() == "true" if isinstance(value, str) else bool(value)
