"""``pumice hooks``: list the extension points, or explain one."""

from __future__ import annotations

from typing import Any

import click

from pumice import __version__, deprecated
from pumice._nearest import did_you_mean
from pumice.cli._complete import complete_points
from pumice.cli._example import example
from pumice.cli._options import output_option, wide_option
from pumice.cli._output import (
    fitted,
    plain,
    print_facts,
    print_heading,
    print_json,
    print_table,
)
from pumice.cli._table import Table
from pumice.discovery import Catalog, Loaded
from pumice.errors import PumiceError
from pumice.hookspecs import POINTS, ExtensionPoint
from pumice.hookspecs.upstream import upstream_point


@click.command("hooks")
@click.argument("name", required=False, shell_complete=complete_points)
@wide_option
@output_option
def command(name: str | None, wide: bool, output: str) -> None:
    """List the extension points, or explain one: when it is asked, how answers combine.

    NAME may be what Volcano or KAI call it (JobOrderFn, AddJobOrderFn). Points of other
    distributions are listed with their distribution; --wide adds who answers each.
    """
    catalog = Catalog()
    points = catalog.points
    renamed = deprecated.renamed_point(name)
    if renamed is not None:
        click.echo(f"warning: {renamed}", err=True)
        name = renamed.new
    if name is not None and name not in points:
        upstream = upstream_point(name, points)
        if upstream is not None:
            click.echo(f"{name} is {upstream} in Pumice", err=True)
            name = upstream
    if name is not None and name not in points:
        raise PumiceError(
            f"there is no extension point {name!r}{did_you_mean(name, points)}",
            hint="'pumice hooks' lists them",
        )
    plugins = [line.loaded for line in catalog.listing("plugin") if line.loaded is not None]
    chosen = [points[name]] if name is not None else list(points.values())
    if output == "json":
        described = [_as_data(point, plugins) for point in chosen]
        print_json(described if name is None else described[0])
    elif name is None:
        _print_list(chosen, plugins, wide=wide)
        for line in catalog.listing("hookspecs"):
            if line.error is not None:
                click.echo(f"\nerror: {line.error}")
                click.echo(f"hint: {line.error.hint}" if line.error.hint else "", nl=False)
    else:
        _print_one(chosen[0], plugins)


def _implementers(point: ExtensionPoint, plugins: list[Loaded]) -> list[Loaded]:
    return [plugin for plugin in plugins if point.name in plugin.points]


def _as_data(point: ExtensionPoint, plugins: list[Loaded]) -> dict[str, Any]:
    return {
        "name": point.name,
        "group": point.group,
        "distribution": point.distribution,
        "version": point.version or __version__,
        "arguments": list(point.args),
        "signature": point.signature,
        "rule": point.rule.name,
        "rule_meaning": point.rule.meaning,
        "default": point.rule.default,
        "form_of": point.form_of or None,
        "gated": point.gated,
        "guards": point.guards,
        "asked": point.asked,
        "doc": point.doc,
        "example": example(point),
        "implementers": [
            {
                "plugin": plugin.name,
                "distribution": plugin.source.distribution,
                "version": plugin.source.version,
            }
            for plugin in _implementers(point, plugins)
        ],
    }


def _print_list(points: list[ExtensionPoint], plugins: list[Loaded], *, wide: bool) -> None:
    if wide:
        table = Table("POINT", "GROUP", "DECLARED BY", "COMBINED BY", "ANSWERED BY", "MEANING")
    else:
        table = Table("POINT", "MEANING")
    for point in points:
        meaning = plain(point.summary)
        if wide:
            names = ", ".join(plugin.name for plugin in _implementers(point, plugins))
            table.add(point.name, point.group, point.source, point.rule.name, names, meaning)
        else:
            owner = "" if point.name in POINTS else f"({point.source}) "
            table.add(point.name, owner + meaning)
    print_table(table, one_line=not wide)


def _print_one(point: ExtensionPoint, plugins: list[Loaded]) -> None:
    answered = [f"{p.name} ({p.source.label})" for p in _implementers(point, plugins)]
    click.echo(point.signature)
    click.echo()
    click.echo(fitted(point.doc))
    click.echo()
    print_facts(
        ("group", point.group),
        ("declared by", point.source),
        ("combined by", f"{point.rule.name}: {point.rule.meaning}"),
        ("no answer", point.rule.default),
        ("form of", point.form_of),
        ("enable, disable", "apply" if point.gated else "do not apply"),
        ("not opened", "counts as refusing" if point.guards else "left out"),
        ("asked", "" if point.asked else "never, by the actions of this release"),
        ("answered by", ", ".join(answered) or "no installed plugin"),
    )
    print_heading("Example")
    click.echo(example(point))
