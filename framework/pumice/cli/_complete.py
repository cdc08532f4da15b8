"""Shell completion of names, without importing plugins or actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import click

from pumice.discovery import Catalog, Kind

Completion = Callable[[click.Context, click.Parameter, str], list[str]]
DUMP = "dump.json"
"""Where names of a cluster come from before FILES are typed."""
_MOST_BYTES = 20_000_000
"""Larger files would take longer to read than a person waits for a completion."""


def _starting(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


def complete_parts(kind: Kind) -> Completion:
    """Complete the installed names of one kind."""
    return lambda _context, _parameter, typed: _starting(Catalog().names(kind), typed)


def complete_points(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete extension points."""
    return _starting(Catalog().points, typed)


def complete_traced(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete extension points and ``all``."""
    return _starting(["all", *Catalog().points], typed)


def complete_presets(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete the policies that ship with Pumice."""
    from pumice.config.presets import preset_names

    return _starting(preset_names(), typed)


def complete_shortcuts(
    _context: click.Context, _parameter: click.Parameter, typed: str
) -> list[str]:
    """Complete the shortcuts of the framework and ``all``."""
    from pumice.shortcuts import ALL, FRAMEWORK

    return _starting([ALL, *(shortcut.name for shortcut in FRAMEWORK)], typed)


def complete_codes(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete reason codes."""
    from pumice.explain.codes import CODES

    return _starting(CODES, typed)


def complete_cluster(table: str) -> Completion:
    """Complete names of a table of the inventory that the typed FILES, or ``dump.json``, hold."""

    def complete(context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
        from pumice.errors import PumiceError
        from pumice.manifests import load

        # Words before an option whose value is being typed are not assigned to arguments yet.
        words = (context.params.get("job"), *(context.params.get("files") or ()))
        given = [*words, *context.args]
        paths = [Path(name) for name in given if name and Path(name).exists()] or [Path(DUMP)]
        try:
            if sum(path.stat().st_size for path in paths) > _MOST_BYTES:
                return []
            facts = getattr(load(paths), table)
        except (OSError, PumiceError):  # nothing to complete; the command itself reports it
            return []
        names = {fact.key for fact in facts.values()} if table == "pods" else set(facts)
        return sorted(_starting(names, typed))

    return complete
