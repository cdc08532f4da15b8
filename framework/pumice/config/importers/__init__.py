"""Imports the configuration files of other schedulers as policies, one package for each.

The package ``NAME`` has a function ``import_NAME(text, *, where)`` that returns the policy, in the
structure of the TOML file, and notes on what could not be imported; ``where`` names the text in
errors. ``pumice config import`` finds it by its name.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from pumice._nearest import did_you_mean
from pumice.config.importers._notes import Note
from pumice.errors import PumiceError

__all__ = ["Importer", "Note", "importer", "importer_names"]


class Importer(Protocol):
    def __call__(self, text: str, *, where: str) -> tuple[dict[str, Any], list[Note]]: ...


def importer_names() -> list[str]:
    """The schedulers whose configuration can be imported."""
    return sorted(m.name for m in iter_modules(__path__) if not m.name.startswith("_"))


def importer(name: str) -> Importer:
    """The function that reads the configuration of a scheduler."""
    names = importer_names()
    if name not in names:
        raise PumiceError(
            f"there is no importer for {name!r}{did_you_mean(name, names)}",
            hint=f"known: {', '.join(names)}",
        )
    function: Importer = getattr(import_module(f"{__name__}.{name}"), f"import_{name}")
    return function
