"""``pumice hooks``: what each extension point asks, and who answers."""

from __future__ import annotations

from typing import Any

import click

from pumice._nearest import did_you_mean
from pumice.cli._options import output_option
from pumice.cli._output import add_row, make_table, print_facts, print_json, print_table
from pumice.discovery import Catalog, Loaded
from pumice.errors import PumiceError
from pumice.hookspecs import POINTS, ExtensionPoint


@click.command("hooks")
@click.argument("name", required=False)
@output_option
def command(name: str | None, output: str) -> None:
    """List the extension points, or explain one: when it is asked, how answers combine."""
    if name is not None and name not in POINTS:
        raise PumiceError(
            f"there is no extension point {name!r}{did_you_mean(name, POINTS)}",
            hint="'pumice hooks' lists them",
        )
    plugins = [line.loaded for line in Catalog().listing("plugin") if line.loaded is not None]
    chosen = [POINTS[name]] if name is not None else list(POINTS.values())
    if output == "json":
        described = [_as_data(point, plugins) for point in chosen]
        print_json(described if name is None else described[0])
    elif name is None:
        _print_list(chosen, plugins)
    else:
        _print_one(chosen[0], plugins)


def _implementers(point: ExtensionPoint, plugins: list[Loaded]) -> list[Loaded]:
    return [plugin for plugin in plugins if point.name in plugin.points]


def _as_data(point: ExtensionPoint, plugins: list[Loaded]) -> dict[str, Any]:
    return {
        "name": point.name,
        "group": point.group,
        "arguments": list(point.args),
        "signature": point.signature,
        "rule": point.rule.name,
        "rule_meaning": point.rule.meaning,
        "nobody": point.rule.nobody,
        "form_of": point.form_of or None,
        "gated": point.gated,
        "asked": point.asked,
        "doc": point.doc,
        "implementers": [
            {
                "plugin": plugin.name,
                "distribution": plugin.source.distribution,
                "version": plugin.source.version,
            }
            for plugin in _implementers(point, plugins)
        ],
    }


def _print_list(points: list[ExtensionPoint], plugins: list[Loaded]) -> None:
    table = make_table("POINT", "GROUP", "COMBINED BY", "ANSWERED BY", "MEANING")
    for point in points:
        names = ", ".join(plugin.name for plugin in _implementers(point, plugins))
        add_row(table, point.name, point.group, point.rule.name, names, point.summary)
    print_table(table)


def _print_one(point: ExtensionPoint, plugins: list[Loaded]) -> None:
    answered = [f"{p.name} ({p.source.label})" for p in _implementers(point, plugins)]
    click.echo(point.signature)
    click.echo()
    click.echo(point.doc)
    click.echo()
    print_facts(
        ("group", point.group),
        ("combined by", f"{point.rule.name}: {point.rule.meaning}"),
        ("nobody answers", point.rule.nobody),
        ("form of", point.form_of),
        ("enable, disable", "apply" if point.gated else "do not apply"),
        ("asked", "" if point.asked else "never, by the actions of this release"),
        ("answered by", ", ".join(answered) or "no installed plugin"),
    )
