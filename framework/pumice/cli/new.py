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
from pumice.cli._complete import complete_points
from pumice.cli._group import Subcommands
from pumice.discovery import Catalog
from pumice.errors import PumiceError
from pumice.hookspecs import SPECS, ExtensionPoint
from pumice.hookspecs.upstream import upstream_point
from pumice.plugin import API_VERSION

MAX_LENGTH = 30
MAX_LISTED = 60
"""A longer list of hooks is counted where a line must be short."""
NAME = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
RESERVED = ("framework", "builtin-plugins", "builtin-actions")
"""Prefixed with ``pumice-``, the distributions of Pumice itself."""
COMMANDS_OF = ("plugin", "action")
"""Kinds that a command lists."""
Kind = Literal["plugin", "action", "backend", "trace", "measure"]
F = TypeVar("F", bound=Callable[..., Any])


@click.group("new", cls=Subcommands)
def command() -> None:
    """Create a distribution of your own, ready to install and test.

    It has a plugin, an action, a backend, a trace format or a measure.
    """


def _into(function: F) -> F:
    return click.option(
        "--into",
        type=click.Path(file_okay=False, path_type=Path),
        default=Path(),
        metavar="DIR",
        help="Where to create the folder pumice-NAME; by default here.",
    )(function)


@command.command("plugin", short_help="A plugin that answers extension points.")
@click.argument("name")
@click.option(
    "--hook",
    "hooks",
    multiple=True,
    default=["job_order"],
    show_default=True,
    metavar="HOOK",
    shell_complete=complete_points,
    help="An extension point that it answers; may be repeated. 'pumice hooks' lists them.",
)
@_into
def new_plugin(name: str, hooks: tuple[str, ...], into: Path) -> None:
    """Create pumice-NAME: a plugin, its tests, a scenario, packaging and CI.

    With the hook job_order it serves small jobs first; with another it has no opinion yet.
    """
    catalog = Catalog()
    points = [_point(hook, catalog) for hook in dict.fromkeys(hooks)]
    listed = " and ".join(point.name for point in points)
    imports = _stub.imports(points, [_spec(point, catalog) for point in points])
    meanings = [f"- `{point.name}`: {point.summary}" for point in points]
    short = listed if len(listed) <= MAX_LISTED else f"{len(points)} extension points"
    words = {
        "hook": short,
        "summary": "\n".join(meanings),
        "hooks_commands": "\n".join(f"pumice hooks {point.name}" for point in points),
        "imports": imports,
        "methods": "\n\n".join(map(_stub.method, points)),
        "docstring": _stub.docstring(points[0]),
        "signature": _stub.signature(points[0]),
        "description": f"A plugin for the Pumice scheduler that answers {short}",
    }
    actions, plugins = _stub.policy(points)
    words |= {
        "actions": ", ".join(actions),
        "actions_quoted": ", ".join(f'"{action}"' for action in actions),
        "plugins": ", ".join(plugins),
        "plugins_quoted": ", ".join(f'"{plugin}"' for plugin in plugins),
    }
    only = points[0].name if len(points) == 1 else ""
    sample = only if only and _scaffold.has("hooks", only) else "any"
    taken = set(re.findall(r"\w+", imports))
    _make("plugin", name, into, [("plugin",), ("hooks", sample)], words, taken, catalog)


def _point(hook: str, catalog: Catalog) -> ExtensionPoint:
    points = catalog.points
    point = points.get(hook) or points.get(upstream_point(hook, points) or "")
    if point is None:
        raise PumiceError(
            f"there is no extension point {hook!r}{did_you_mean(hook, points)}",
            hint="'pumice hooks' lists them",
        )
    return point


@command.command("action", short_help="An action, one step of a cycle.")
@click.argument("name")
@_into
def new_action(name: str, into: Path) -> None:
    """Create pumice-NAME: an action, its tests, a scenario, packaging and CI.

    As made, it places each job that fits, on the best nodes that have the room.
    """
    words = {"description": "An action for the Pumice scheduler"}
    _make("action", name, into, [("action",)], words, {"Action", "Session"}, Catalog())


@command.command("backend", short_help="A backend, which gives facts and carries out decisions.")
@click.argument("name")
@_into
def new_backend(name: str, into: Path) -> None:
    """Create pumice-NAME: a backend, which gives the facts and carries out the decisions.

    As made, it reads the files of 'pumice run --backend NAME FILES' and stores the decisions.
    """
    words = {"description": "A backend for the Pumice scheduler"}
    taken = {"MemoryBackend", "Decisions"}
    _make("backend", name, into, [("backend",)], words, taken, Catalog())


@command.command("trace", short_help="A trace format for 'pumice simulate'.")
@click.argument("name")
@_into
def new_trace(name: str, into: Path) -> None:
    """Create pumice-NAME: the reader of a trace format for 'pumice simulate --format NAME'.

    As made, it reads lines of a name, a time, a duration and a number of GPUs.
    """
    words = {"description": "A trace format for simulations with the Pumice scheduler"}
    taken = {"ReadProblems", "Trace", "TraceJob", "TraceReader", "Mapping"}
    _make("trace", name, into, [("trace",)], words, taken, Catalog())


@command.command("measure", short_help="A measure that 'pumice simulate' reports.")
@click.argument("name")
@_into
def new_measure(name: str, into: Path) -> None:
    """Create pumice-NAME: a measure that every 'pumice simulate' reports.

    As made, it reports the longest delay of a job.
    """
    words = {"description": "A measure for simulations with the Pumice scheduler"}
    taken = {"Measure", "Record", "Mapping"}
    _make("measure", name, into, [("measure",)], words, taken, Catalog())


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
            hint="choose another name"
            + (f"; 'pumice {kind}s' lists the installed ones" if kind in COMMANDS_OF else ""),
        )


_A = {
    "plugin": "a plugin",
    "action": "an action",
    "backend": "a backend",
    "trace": "a trace format",
    "measure": "a measure",
}


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
