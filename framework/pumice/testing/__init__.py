"""The test kit for authors of plugins and actions; its pytest plugin provides the fixtures.

``cluster`` builds a small cluster, ``schedule`` runs a policy on it, :class:`PluginContract` tests
what every plugin must guarantee, and ``*.scenario.yaml`` (``.toml``, ``.json``) files are tests.
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
    # pytest imports this package in every test suite of the environment, so it must be cheap.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
