"""The command line: ``pumice …``."""

from __future__ import annotations

from pumice.cli._group import main

__all__ = ["main"]
