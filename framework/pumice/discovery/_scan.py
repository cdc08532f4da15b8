"""Entry points as they are installed now, and the import of the one that is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NoReturn

from stevedore.named import NamedExtensionManager

Kind = Literal["plugin", "action", "backend", "hookspecs"]

GROUPS: dict[Kind, str] = {
    "plugin": "pumice.plugins",
    "action": "pumice.actions",
    "backend": "pumice.backends",
    "hookspecs": "pumice.hookspecs",
}


def installed() -> dict[Kind, tuple[EntryPoint, ...]]:
    """Every entry point of our groups, read afresh; nothing is imported."""
    everything = entry_points()
    return {kind: tuple(everything.select(group=group)) for kind, group in GROUPS.items()}


class _Named(NamedExtensionManager[Any]):
    """Stevedore's named loading over our own scan.

    Its cache on disk lags behind a reinstallation by up to two minutes and forgets which
    distribution an entry point came from.
    """

    def __init__(self, namespace: str, name: str, found: Iterable[EntryPoint]) -> None:
        self._found = list(found)
        super().__init__(
            namespace,
            [name],
            on_load_failure_callback=_raise,
            on_missing_entrypoints_callback=None,
        )

    def list_entry_points(self) -> list[EntryPoint]:
        return self._found


def _raise(_manager: object, _entry_point: EntryPoint, error: BaseException) -> NoReturn:
    raise error


def load(kind: Kind, name: str, found: Iterable[EntryPoint]) -> Any:
    """Import what the entry point of this name leads to, and nothing else."""
    return _Named(GROUPS[kind], name, found)[name].plugin
