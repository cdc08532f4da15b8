"""Scans the installed entry points and imports one of them on demand."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal, NoReturn

from stevedore.named import NamedExtensionManager

Kind = Literal["plugin", "action", "backend", "hookspecs", "trace", "measure"]

GROUPS: dict[Kind, str] = {
    "plugin": "pumice.plugins",
    "action": "pumice.actions",
    "backend": "pumice.backends",
    "hookspecs": "pumice.hookspecs",
    "trace": "pumice.traces",
    "measure": "pumice.measures",
}


def scan() -> dict[Kind, tuple[EntryPoint, ...]]:
    """All entry points of our groups as they are installed now; nothing is imported."""
    all_groups = entry_points()
    return {kind: tuple(all_groups.select(group=group)) for kind, group in GROUPS.items()}


class _Named(NamedExtensionManager[Any]):
    """Stevedore's named loading with our own scan.

    Stevedore's disk cache may be two minutes behind a reinstallation, and has no distributions.
    """

    def __init__(self, namespace: str, name: str, candidates: Iterable[EntryPoint]) -> None:
        self._candidates = list(candidates)
        super().__init__(
            namespace,
            [name],
            on_load_failure_callback=_raise,
            on_missing_entrypoints_callback=None,
        )

    def list_entry_points(self) -> list[EntryPoint]:
        return self._candidates


def _raise(_manager: object, _entry_point: EntryPoint, error: BaseException) -> NoReturn:
    raise error


def load(kind: Kind, name: str, candidates: Iterable[EntryPoint]) -> Any:
    """Import what the entry point of this name refers to, and nothing else."""
    return _Named(GROUPS[kind], name, candidates)[name].plugin
