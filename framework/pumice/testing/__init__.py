"""What the author of a plugin or an action tests with; the pytest plugin brings the fixtures.

``cluster`` builds a small cluster, ``schedule`` runs a policy on it, :class:`PluginContract` holds
what every plugin must keep to, and files ``*.scenario.yaml`` (``.toml``, ``.json``) are tests.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pumice.testing.cluster import Cluster, amount
    from pumice.testing.contract import PluginContract
    from pumice.testing.outcome import Outcome
    from pumice.testing.schedule import Schedule

_HOME = {
    "Cluster": "pumice.testing.cluster",
    "Outcome": "pumice.testing.outcome",
    "PluginContract": "pumice.testing.contract",
    "Schedule": "pumice.testing.schedule",
    "amount": "pumice.testing.cluster",
}

__all__ = ["Cluster", "Outcome", "PluginContract", "Schedule", "amount"]


def __getattr__(name: str) -> Any:
    # pytest imports this package in every suite of the environment: it must cost nothing there.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
