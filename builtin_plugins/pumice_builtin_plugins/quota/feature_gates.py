"""Feature gates: what upstream switches by a flag of its process, here a fact of the cluster."""

from __future__ import annotations

from pumice import Session


def gate(session: Session, name: str, *, default: bool) -> bool:
    """Whether a feature is on in the cluster."""
    value = session.cluster.inventory.feature_gates.get(name, default)
    return value.strip().lower() == "true" if isinstance(value, str) else bool(value)
