"""What ``pumice plugins`` and ``pumice actions`` have in common."""

from __future__ import annotations

import inspect
from dataclasses import asdict
from typing import Any, Literal

import click

from pumice.cli._complete import complete_parts
from pumice.cli._options import output_option, wide_option
from pumice.cli._output import (
    fitted,
    plain,
    print_facts,
    print_heading,
    print_json,
    print_table,
)
from pumice.cli._table import GAP, Table
from pumice.config.options import Option, describe
from pumice.discovery import Catalog, CatalogEntry, Loaded, project_url

Part = Literal["plugin", "action"]


def part_command(kind: Part, help_text: str) -> click.Command:
    """The command ``plugins`` or ``actions``: without a name it lists them, else it shows one."""

    @click.command(f"{kind}s", help=help_text)
    @click.argument("name", required=False, shell_complete=complete_parts(kind))
    @wide_option
    @output_option
    def command(name: str | None, wide: bool, output: str) -> None:
        if name is None:
            list_parts(kind, output, wide=wide)
        else:
            show_part(kind, name, output)

    return command


def list_parts(kind: Part, output: str, *, wide: bool = False) -> None:
    """List everything installed; what cannot be loaded has its error."""
    entries = Catalog().listing(kind)
    if output == "json":
        print_json([_as_data(entry) for entry in entries])
        return
    points = ["EXTENSION POINTS"] if kind == "plugin" else []
    more = ["VERSION", *points] if wide else []
    table = Table("NAME", "DISTRIBUTION", *more[:1], "DESCRIPTION", *more[1:])
    for entry in entries:
        source, loaded = entry.installed.source, entry.loaded
        cells = [entry.installed.name, source.distribution]
        cells += [source.version] * wide
        cells.append(plain(loaded.summary) if loaded else "broken, see below")
        if wide and kind == "plugin":
            cells.append(", ".join(loaded.points) if loaded else "")
        table.add(*cells)
    print_table(table, one_line=not wide)
    _print_warnings(entries)


def show_part(kind: Part, name: str, output: str) -> None:
    """Show one class: its distribution, extension points and options."""
    catalog = Catalog()
    loaded = catalog.load(kind, name)
    options = describe(loaded.cls.Options)
    if output == "json":
        facts = {**_loaded_data(loaded), "docs": project_url(loaded.source) or None}
        print_json({**facts, "options": [asdict(option) for option in options]})
        return
    print_facts(
        (kind, name),
        ("from", f"{loaded.source.label} ({loaded.source.entry_point})"),
        ("docs", project_url(loaded.source)),
        ("", fitted(inspect.cleandoc(loaded.cls.__doc__ or ""), indent=len(kind) + GAP)),
    )
    if loaded.points:
        print_heading("Extension points")
        points = Table("POINT", "COMBINED BY", "MEANING")
        for point in (catalog.points[point] for point in loaded.points):
            points.add(point.name, point.rule.name, plain(point.summary))
        print_table(points)
    print_heading("Options" if options else "No options")
    if options:
        _print_options(options)
    for warning in (*loaded.warnings, *loaded.deprecations):
        click.echo(f"\nwarning: {warning}")


def _print_options(options: list[Option]) -> None:
    table = Table("OPTION", "TYPE", "DEFAULT", "MEANING")
    for option in options:
        default = "required" if option.required else repr(option.default)
        table.add(option.name, option.type, default, option.help)
    print_table(table)


def _print_warnings(entries: list[CatalogEntry]) -> None:
    for entry in entries:
        if entry.loaded is not None:
            for warning in (*entry.loaded.warnings, *entry.loaded.deprecations):
                click.echo(f"\nwarning: {entry.installed.kind} {entry.installed.name!r}: {warning}")
    errors = {str(entry.error): entry.error for entry in entries if entry.error is not None}
    for text, error in errors.items():
        click.echo(f"\nerror: {text}")
        if error.hint:
            click.echo(f"hint: {error.hint}")


def _as_data(entry: CatalogEntry) -> dict[str, Any]:
    if entry.loaded is not None:
        return _loaded_data(entry.loaded)
    source = entry.installed.source
    return {
        "name": entry.installed.name,
        "distribution": source.distribution,
        "version": source.version,
        "entry_point": source.entry_point,
        "points": [],
        "doc": "",
        "warnings": [],
        "error": str(entry.error),
    }


def _loaded_data(loaded: Loaded) -> dict[str, Any]:
    return {
        "name": loaded.name,
        "distribution": loaded.source.distribution,
        "version": loaded.source.version,
        "entry_point": loaded.source.entry_point,
        "points": list(loaded.points),
        "doc": loaded.summary,
        "warnings": [*loaded.warnings, *loaded.deprecations],
        "error": None,
    }
