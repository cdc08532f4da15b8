"""Pumice: a batch and GPU cluster scheduler whose policy is made of pip-installable parts."""

from __future__ import annotations

from loguru import logger

from pumice.action import Action
from pumice.combine import ABSTAIN, PERMIT, REJECT, SKIP
from pumice.errors import PumiceError
from pumice.plugin import API_VERSION, OptionsModel, Plugin, hookimpl

__version__ = "0.1.0"

logger.disable("pumice")  # a library is quiet until its application asks (the CLI does)

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
    "hookimpl",
]
