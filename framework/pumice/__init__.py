"""Pumice: a batch and GPU cluster scheduler whose policy is made of pip-installable parts."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pumice import combine
    from pumice.action import Action
    from pumice.combine import ABSTAIN, PERMIT, REJECT, SKIP
    from pumice.errors import PumiceError
    from pumice.hookspecs import extension_point
    from pumice.plugin import API_VERSION, OptionsModel, Plugin, hookimpl

__version__ = "0.2.0"

_HOME = {
    "ABSTAIN": "pumice.combine",
    "API_VERSION": "pumice.plugin",
    "Action": "pumice.action",
    "OptionsModel": "pumice.plugin",
    "PERMIT": "pumice.combine",
    "Plugin": "pumice.plugin",
    "PumiceError": "pumice.errors",
    "REJECT": "pumice.combine",
    "SKIP": "pumice.combine",
    "extension_point": "pumice.hookspecs",
    "hookimpl": "pumice.plugin",
}

__all__ = [
    "ABSTAIN",
    "API_VERSION",
    "PERMIT",
    "REJECT",
    "SKIP",
    "Action",
    "OptionsModel",
    "Plugin",
    "PumiceError",
    "__version__",
    "combine",
    "extension_point",
    "hookimpl",
]


def __getattr__(name: str) -> Any:
    # Lazy because pytest imports the package in every suite of an environment that has it.
    if name == "combine":
        return import_module("pumice.combine")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
