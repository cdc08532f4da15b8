"""``pumice new``: create a distribution that installs, passes its tests and lints."""

from __future__ import annotations

import keyword
import re
import shlex
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from pumice import __version__
from pumice._nearest import did_you_mean
from pumice.cli import _scaffold, _stub
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.hookspecs import SPECS, ExtensionPoint
from pumice.plugin import API_VERSION

MAX_LENGTH = 30
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
RESERVED = ("framework", "builtin-plugins", "builtin-actions")
"""Prefixed with ``pumice-``, the distributions of Pumice itself."""
Kind = Literal["plugin", "action"]
F = TypeVar("F", bound=Callable[..., Any])


@click.group("new")
def command() -> None:
    """Create a distribution for a plugin or an action of your own, ready to install and test."""


def _into(function: F) -> F:
    return click.option(
        "--into",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(),
        metavar="DIR",
        help="Where to create the folder pumice-NAME; by default here.",
    )(function)


@command.command("plugin")
@click.argument("name")
@click.option(
    "--hook",
    default="job_order",
    show_default=True,
    metavar="HOOK",
    help="The extension point that it answers; 'pumice hooks' lists them.",
)
@_into
def new_plugin(name: str, hook: str, into: Path) -> None:
    """Create pumice-NAME: a plugin, its tests, a scenario, packaging and CI.

    With the hook job_order it serves small jobs first; with another it has no opinion yet.
    """
    catalog = Catalog()
    point = catalog.points.get(hook)
    if point is None:
        raise PumiceError(
            f"there is no extension point {hook!r}{did_you_mean(hook, catalog.points)}",
            hint="'pumice hooks' lists them",
        )
    imports = _stub.imports(point, _spec(point, catalog))
    words = {
        "hook": hook,
        "summary": point.summary,
        "imports": imports,
        "docstring": _stub.docstring(point),
        "signature": _stub.signature(point),
        "nothing": _stub.no_opinion(point),
        "description": f"A plugin for the Pumice scheduler that answers {hook}",
    }
    sample = hook if _scaffold.has("hooks", hook) else "any"
    taken = set(re.findall(r"\w+", imports))
    _make("plugin", name, into, [("plugin",), ("hooks", sample)], words, taken, catalog)


@command.command("action")
@click.argument("name")
@_into
def new_action(name: str, into: Path) -> None:
    """Make pumice-NAME: an action, its tests, a scenario, packaging and CI.

    As made, it places each job that fits, on the best nodes that have the room.
    """
    words = {"description": "An action for the Pumice scheduler"}
    _make("action", name, into, [("action",)], words, {"Action", "Session"}, Catalog())


def _make(
    kind: Kind,
    name: str,
    into: Path,
    folders: list[tuple[str, ...]],
    words: dict[str, str],
    taken: Collection[str],
    catalog: Catalog,
) -> None:
    distribution = f"pumice-{name.replace('_', '-')}"
    _check(kind, name, distribution, catalog)
    major, minor = __version__.split(".")[:2]
    words |= {
        "kind": kind,
        "name": name,
        "distribution": distribution,
        "module": distribution.replace("-", "_"),
        "class": _class_name(name, kind, taken),
        "api": API_VERSION,
        "version": f"{major}.{minor}",
        "next_version": f"{major}.{int(minor) + 1}",
    }
    folder = into / distribution
    files = _scaffold.render([("common",), *folders], words)
    _scaffold.write(folder, files)
    click.echo(f"created {folder} with the {kind} {name!r}:")
    for path in files:
        click.echo(f"     {path}")
    click.echo("next:")
    click.echo(f"     pip install -e {shlex.quote(f'{_here(folder)}[test]')}")
    click.echo(f"     pytest {shlex.quote(str(folder))}")


def _check(kind: Kind, name: str, distribution: str, catalog: Catalog) -> None:
    plain = re.sub(r"[^a-z0-9]+", "-", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower())
    better = plain.strip("-").removeprefix("pumice-")
    if not NAME.fullmatch(name) or better != name.replace("_", "-"):
        hint = "lower-case letters and digits, words joined by '-', starting with a letter"
        if NAME.fullmatch(better):
            hint = f"did you mean {better!r}?"
        raise PumiceError(f"{name!r} is not a valid name for {_A[kind]}", hint=hint)
    if len(name) > MAX_LENGTH:
        raise PumiceError(
            f"{name!r} is too long for a name",
            hint=f"at most {MAX_LENGTH} characters, it has {len(name)}",
        )
    if better in RESERVED:
        raise PumiceError(
            f"{distribution} is a distribution of Pumice itself", hint="choose another name"
        )
    owners = [part.source for part in catalog.installed(kind) if part.name == name]
    others = [owner for owner in owners if owner.distribution != distribution]
    if others:
        raise PumiceError(
            f"{kind} {name!r} is already installed ({others[0].label})",
            hint=f"choose another name; 'pumice {kind}s' lists the installed ones",
        )


_A = {"plugin": "a plugin", "action": "an action"}


def _class_name(name: str, kind: Kind, taken: Collection[str]) -> str:
    camel = "".join(word.capitalize() for word in re.split("[-_]", name))
    clash = keyword.iskeyword(camel) or camel in taken
    return f"{camel}{kind.capitalize()}" if clash else camel


def _spec(point: ExtensionPoint, catalog: Catalog) -> type:
    """The class that declares a point."""
    loaded = [line.loaded.cls for line in catalog.listing("hookspecs") if line.loaded is not None]
    return next(spec for spec in (*SPECS, *loaded) if point.name in vars(spec))


def _here(folder: Path) -> str:
    """The path in a form that pip does not take for the name of a distribution."""
    return str(folder) if folder.is_absolute() else f"./{folder}"
