"""What ``pumice plugins`` and ``pumice actions`` have in common."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Literal

import click

from pumice.cli._output import (
    add_row,
    make_table,
    print_facts,
    print_heading,
    print_json,
    print_table,
)
from pumice.config.options import Option, describe
from pumice.discovery import Catalog, Listed, Loaded, project_url

Part = Literal["plugin", "action"]


def list_parts(kind: Part, output: str) -> None:
    """Everything installed; what is broken is listed with its error."""
    lines = Catalog().listing(kind)
    if output == "json":
        print_json([_as_data(line) for line in lines])
        return
    columns = ["NAME", "DISTRIBUTION", "VERSION", "DESCRIPTION"]
    if kind == "plugin":
        columns.append("EXTENSION POINTS")
    table = make_table(*columns)
    for line in lines:
        source = line.found.source
        cells = [line.found.name, source.distribution, source.version]
        cells.append(line.loaded.summary if line.loaded else "broken, see below")
        if kind == "plugin":
            cells.append(", ".join(line.loaded.points) if line.loaded else "")
        add_row(table, *cells)
    print_table(table)
    _print_remarks(lines)


def show_part(kind: Part, name: str, output: str) -> None:
    """One class: where it comes from, what it answers, its options."""
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
        ("", (loaded.cls.__doc__ or "").strip().replace("\n    ", "\n")),
    )
    if loaded.points:
        print_heading("Extension points")
        points = make_table("POINT", "COMBINED BY", "MEANING")
        for point in (catalog.points[point] for point in loaded.points):
            add_row(points, point.name, point.rule.name, point.summary)
        print_table(points)
    print_heading("Options" if options else "No options")
    if options:
        _print_options(options)
    for warning in (*loaded.warnings, *loaded.deprecations):
        click.echo(f"\nwarning: {warning}")


def _print_options(options: list[Option]) -> None:
    table = make_table("OPTION", "TYPE", "DEFAULT", "MEANING")
    for option in options:
        default = "required" if option.required else repr(option.default)
        add_row(table, option.name, option.type, default, option.help)
    print_table(table)


def _print_remarks(lines: list[Listed]) -> None:
    for line in lines:
        if line.loaded is not None:
            for warning in (*line.loaded.warnings, *line.loaded.deprecations):
                click.echo(f"\nwarning: {line.found.kind} {line.found.name!r}: {warning}")
    errors = {str(line.error): line.error for line in lines if line.error is not None}
    for text, error in errors.items():
        click.echo(f"\nerror: {text}")
        if error.hint:
            click.echo(f"hint: {error.hint}")


def _as_data(line: Listed) -> dict[str, Any]:
    if line.loaded is not None:
        return _loaded_data(line.loaded)
    source = line.found.source
    return {
        "name": line.found.name,
        "distribution": source.distribution,
        "version": source.version,
        "entry_point": source.entry_point,
        "points": [],
        "doc": "",
        "warnings": [],
        "error": str(line.error),
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
