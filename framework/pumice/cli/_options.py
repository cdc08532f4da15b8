"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import click

from pumice._nearest import did_you_mean, near_file
from pumice.cli._complete import complete_parts, complete_presets, complete_shortcuts
from pumice.config.presets import preset_names
from pumice.discovery import Catalog
from pumice.errors import PumiceError

F = TypeVar("F", bound=Callable[..., Any])

POLICY_FILE = click.Path(dir_okay=False, path_type=Path)
"""Not checked for existence: loading the policy reports a missing file."""


def output_option(function: F) -> F:
    """``-o table|json``, given to the command as ``output``."""
    return _output("Output format.", "table", "json")(function)


def cycles_output_option(function: F) -> F:
    """``-o table|json|jsonl``, given to the command as ``output``."""
    text = "Output format; jsonl: one line for each cycle, as soon as it is decided."
    return _output(text, "table", "json", "jsonl")(function)


def _output(text: str, *formats: str) -> Callable[[F], F]:
    return click.option(
        "-o",
        "--output",
        type=click.Choice(formats),
        default="table",
        show_default=True,
        help=text,
    )


def wide_option(function: F) -> F:
    """``--wide``, given to the command as ``wide``."""
    return click.option("--wide", is_flag=True, help="All columns; long cells wrap.")(function)


def set_option(function: F) -> F:
    """``--set KEY=VALUE``, given to the command as ``overrides``."""
    return click.option(
        "--set",
        "overrides",
        multiple=True,
        metavar="KEY=VALUE",
        help="Override one setting, as in plugin.binpack.binpack.weight=5; may be repeated.",
    )(function)


def backend_option(default: str, what: str = "Where the facts come from") -> Callable[[F], F]:
    """``--backend NAME``, given to the command as ``backend_name``."""
    return click.option(
        "--backend",
        "backend_name",
        default=default,
        show_default=True,
        shell_complete=complete_parts("backend"),
        metavar="NAME",
        help=f"{what}, by its entry point in the group pumice.backends.",
    )


def backend_set_option(function: F) -> F:
    """``--backend-set KEY=VALUE``, given to the command as ``settings``."""
    return click.option(
        "--backend-set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        help="An option of the backend, as in kubeconfig=FILE; may be repeated.",
    )(function)


def now_option(function: F) -> F:
    """``--now TIME``, given to the command as ``now`` in epoch seconds."""
    return click.option(
        "--now",
        metavar="TIME",
        callback=_read_time,
        help="The time of the first cycle, as in 2026-01-31T08:00:00Z; without it, just after the "
        "latest time in FILES.",
    )(function)


def _read_time(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> float | None:
    if value is None:
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a time such as 2026-01-31T08:00:00Z") from None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def plain_option(function: F) -> F:
    """``--plain NAME``, given to the command as ``plain``."""
    return click.option(
        "--plain",
        multiple=True,
        metavar="NAME",
        callback=_known_shortcuts,
        shell_complete=complete_shortcuts,
        help="Switch off a shortcut of the engine, or 'all'; may be repeated.",
    )(function)


def _known_shortcuts(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    catalog = Catalog()
    for name in names:
        right = catalog.shortcut_correction(name)
        if right is not None:
            raise PumiceError(f"--plain: there is no shortcut {name!r}", hint=right)
    return names


def file_or_preset(name: str) -> tuple[str | None, str | None]:
    """A policy file, or else the preset of this name.

    :raises PumiceError: it is neither.
    """
    presets = preset_names()
    if name in presets:
        return None, name
    if not Path(name).exists():
        raise PumiceError(
            f"there is no policy file and no preset {name!r}{did_you_mean(name, presets)}",
            hint=near_file(name) or f"presets: {', '.join(presets)}",
        )
    return name, None


def policy_options(function: F) -> F:
    """``-c FILE``, ``--preset NAME`` and ``--set``, as ``policy``, ``preset`` and ``overrides``."""
    function = set_option(function)
    function = click.option(
        "--preset",
        metavar="NAME",
        shell_complete=complete_presets,
        help="A policy that ships with Pumice.",
    )(function)
    return click.option(
        "-c", "--config", "policy", type=POLICY_FILE, metavar="FILE", help="The policy file."
    )(function)
