"""``pumice config``: check, show or import a policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from pydantic import BaseModel

from pumice._nearest import read_hint
from pumice._replace import replace_file
from pumice.cli._complete import complete_presets
from pumice.cli._group import Subcommands
from pumice.cli._options import POLICY_FILE, output_option, set_option
from pumice.cli._output import (
    print_facts,
    print_heading,
    print_json,
    print_table,
)
from pumice.cli._table import Table
from pumice.config import MissingParts, Policy, load_policy, policy_from_dict
from pumice.config.importers import importer, importer_names
from pumice.config.importers._toml import write_toml
from pumice.config.options import values_of
from pumice.errors import PolicyError, PumiceError

_DISPLAY_NAMES = {"kai": "KAI", "volcano": "Volcano"}


_FROM = ["FROM"]
"""The column that --why adds."""


@click.group("config", cls=Subcommands)
def command() -> None:
    """Check a policy, show the resulting pipeline, or import a policy."""


@command.command("check", short_help="Report everything that is wrong with a policy.")
@click.argument("file", type=POLICY_FILE)
@set_option
@output_option
@click.pass_context
def check(ctx: click.Context, file: Path, overrides: tuple[str, ...], output: str) -> None:
    """Report everything that is wrong with a policy FILE; exit status 2 if something is."""
    try:
        policy = load_policy(file, overrides=overrides)
    except PolicyError as error:
        if output == "table":
            raise
        print_json({"ok": False, "problems": error.problems, "warnings": []})
        ctx.exit(error.exit_status)
    if output == "json":
        print_json({"ok": True, "problems": [], "warnings": list(policy.warnings)})
        return
    _print_warnings(policy)
    counts = f"{len(policy.actions)} actions, {len(policy.plugins)} plugins in {len(policy.tiers)}"
    click.echo(f"{policy.origin}: ok, {counts} tiers")


@command.command("show", short_help="Show the resulting pipeline of a policy.")
@click.argument("file", type=POLICY_FILE, required=False)
@click.option(
    "--preset",
    metavar="NAME",
    shell_complete=complete_presets,
    help="Show a policy that ships with Pumice.",
)
@set_option
@click.option("--why", is_flag=True, help="Show where each part and each value comes from.")
@output_option
def show(
    file: Path | None, preset: str | None, overrides: tuple[str, ...], why: bool, output: str
) -> None:
    """Show the pipeline in effect: actions, tiers, options, and the plugins of each point.

    Without FILE and --preset it is the default policy.
    """
    policy = load_policy(file, preset=preset, overrides=overrides)
    if output == "json":
        print_json({**_as_data(policy), **({"why": _why_data(policy)} if why else {})})
        return
    actions = " → ".join(entry.name for entry in policy.actions)
    print_facts(("policy", policy.origin), ("actions", actions))
    _print_tiers(policy, why)
    _print_options(policy, why)
    _print_voters(policy, why)
    _print_warnings(policy)


@command.command("import", short_help="Create a policy from another scheduler's configuration.")
@click.argument("file", metavar="FILE")
@click.option(
    "--from",
    "origin",
    type=click.Choice(importer_names()),
    required=True,
    help="The scheduler whose configuration it is.",
)
@click.option(
    "-O", "--output-file", type=POLICY_FILE, metavar="FILE", help="Where to write the policy."
)
def import_(file: str, origin: str, output_file: Path | None) -> None:
    """Create a policy that decides the same as the configuration in FILE (- is standard input).

    It is printed unless -O names a file. What it cannot express is listed in comments at its top
    and on standard error.
    """
    try:
        with click.open_file(file, encoding="utf-8") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or f"not UTF-8 text: {error}"
        hint = read_hint(file, error)
        raise PumiceError(f"{file}: cannot be read: {reason}", hint=hint) from error
    name = "standard input" if file == "-" else file
    policy, notes = importer(origin)(text, where=name)
    try:
        warnings = policy_from_dict(policy, where=name).warnings
    except MissingParts as missing:
        warnings = tuple(missing.problems)
    title = (
        f"Imported from the {_DISPLAY_NAMES.get(origin, origin)} configuration {Path(name).name}."
    )
    result = write_toml(policy, title, notes)
    for line in (*(f"note: {note}" for note in notes), *(f"warning: {w}" for w in warnings)):
        click.echo(line.replace("\n", "\n    "), err=True)
    if output_file is None:
        click.echo(result, nl=False)
    else:
        replace_file(output_file, result)


def _print_tiers(policy: Policy, why: bool) -> None:
    print_heading("Parts")
    table = Table("TIER", "NAME", "DISTRIBUTION", "VERSION", "POINTS", *_FROM[:why])
    for entry in policy.actions:
        source, place = entry.source, policy.why("action", entry.name)
        cells = (source.distribution, source.version, "", *[place][:why])
        table.add("action", entry.name, *cells)
    for number, tier in enumerate(policy.tiers, 1):
        for plugin in tier:
            source = plugin.source
            gates = []
            if plugin.enable is not None:
                gates.append(f"only {', '.join(sorted(plugin.enable)) or 'none'}")
            if plugin.disable:
                gates.append(f"without {', '.join(sorted(plugin.disable))}")
            answered = "; ".join(gates) or "all"
            place = policy.why("plugin", plugin.name)
            cells = (source.distribution, source.version, answered, *[place][:why])
            table.add(number, plugin.name, *cells)
    print_table(table)


def _print_options(policy: Policy, why: bool) -> None:
    print_heading("Options (* differs from the default)")
    table = Table("OF", "OPTION", "VALUE", "", *_FROM[:why])
    for kind, entries in (("plugin", policy.plugins), ("action", policy.actions)):
        for entry in entries:
            for name, (value, changed) in values_of(entry.options).items():
                place = policy.why(kind, entry.name, name)
                cells = (_spell(value), "*" if changed else "", *[place][:why])
                table.add(f"{kind} {entry.name}", name, *cells)
    for section, settings in _settings(policy).items():
        for name, (value, changed) in values_of(settings).items():
            cells = (_spell(value), "*" if changed else "", *[policy.why(section, name)][:why])
            table.add(section, name, *cells)
    print_table(table)


def _print_voters(policy: Policy, why: bool) -> None:
    print_heading("Plugins by extension point")
    tiers = [f"TIER {number}" for number in range(1, len(policy.tiers) + 1)]
    table = Table("POINT", "COMBINED BY", *tiers)
    for point, voters in _voters(policy).items():
        cells = (", ".join(_voter(policy, name, why) for name in names) for names in voters)
        table.add(point, policy.points[point].rule.name, *cells)
    print_table(table)


def _settings(policy: Policy) -> dict[str, BaseModel]:
    """The sections of settings that belong to no plugin or action."""
    return {"scheduler": policy.scheduler, "evictions": policy.evictions}


def _voter(policy: Policy, name: str, why: bool) -> str:
    return f"{name} ({policy.why('plugin', name)})" if why else name


def _why_data(policy: Policy) -> dict[str, Any]:
    """Where each part is listed and each value is set."""
    data: dict[str, Any] = {}
    for kind, entries in (("action", policy.actions), ("plugin", policy.plugins)):
        data[kind] = {
            entry.name: {
                "listed": policy.why(kind, entry.name),
                "options": {
                    name: policy.why(kind, entry.name, name) for name in values_of(entry.options)
                },
            }
            for entry in entries
        }
    for section, settings in _settings(policy).items():
        data[section] = {name: policy.why(section, name) for name in values_of(settings)}
    return data


def _print_warnings(policy: Policy) -> None:
    for warning in policy.warnings:
        click.echo(f"warning: {warning}", err=True)


def _voters(policy: Policy) -> dict[str, list[list[str]]]:
    """The plugins of each extension point that has any, tier by tier, in order."""
    points = {point.base for point in policy.points.values()}
    names = {
        point: [[entry.name for entry in tier] for tier in policy.voters(point)]
        for point in policy.points
        if point in points
    }
    return {point: tiers for point, tiers in names.items() if any(tiers)}


def _as_data(policy: Policy) -> dict[str, Any]:
    return {
        "policy": policy.origin,
        "actions": [_entry_data(entry) for entry in policy.actions],
        "tiers": [
            [
                {
                    **_entry_data(entry),
                    "points": [p for p in entry.points if entry.answers(p)],
                    "enable": None if entry.enable is None else sorted(entry.enable),
                    "disable": sorted(entry.disable),
                }
                for entry in tier
            ]
            for tier in policy.tiers
        ],
        "points": _voters(policy),
        **{
            section: {name: value for name, (value, _) in values_of(settings).items()}
            for section, settings in _settings(policy).items()
        },
        "config": policy.raw,
        "warnings": list(policy.warnings),
    }


def _entry_data(entry: Any) -> dict[str, Any]:
    values = values_of(entry.options)
    return {
        "name": entry.name,
        "distribution": entry.source.distribution,
        "version": entry.source.version,
        "options": {name: value for name, (value, _) in values.items()},
        "changed": [name for name, (_, changed) in values.items() if changed],
    }


def _spell(value: Any) -> str:
    return value if isinstance(value, str) else repr(value)
