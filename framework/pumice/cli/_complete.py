"""Shell completion of names, without importing plugins or actions."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import click

from pumice.discovery import Catalog, Kind

Completion = Callable[[click.Context, click.Parameter, str], list[str]]


def _starting(names: Iterable[str], typed: str) -> list[str]:
    return [name for name in names if name.startswith(typed)]


def complete_parts(kind: Kind) -> Completion:
    """Complete the installed names of one kind."""
    return lambda _context, _parameter, typed: _starting(Catalog().names(kind), typed)


def complete_points(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[str]:
    """Complete extension points."""
    return _starting(Catalog().points, typed)
