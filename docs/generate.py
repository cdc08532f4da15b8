"""Write the reference pages from the code: API, extension points, plugins, actions, commands.

Run ``python docs/generate.py`` after a change; with ``--check`` it only lists what is out of date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path

import api_page
import cast
import click
import directory_page
import drawing
import walks
import worked

from pumice.cli import main as pumice_command
from pumice.combine import RULES
from pumice.config.options import describe
from pumice.discovery import Catalog, Kind
from pumice.hookspecs import POINTS
from pumice.shortcuts import declared

DOCS = Path(__file__).parent
BUILTIN = ("pumice-builtin-plugins", "pumice-builtin-actions")
_NOTE = "<!-- written by docs/generate.py; change the code, not this page -->\n"


def extension_points() -> str:
    lines = [
        "# Extension points",
        _NOTE,
        "Every question that an action may put to the plugins. A plugin answers one by a method of",
        "its name, decorated with `@hookimpl`, that names those of the arguments it needs.",
        "`pumice hooks --wide` lists the same with who implements each.",
        "",
        "## Combination rules",
        "",
        "| rule | how answers become one | no plugin answers |",
        "|---|---|---|",
    ]
    for rule in RULES:
        made = rule()
        lines.append(f"| {made.name} | {made.meaning} | {made.default} |")
    group = ""
    for point in POINTS.values():
        if point.group != group:
            group = point.group
            lines += ["", f"## {group.capitalize()}"]
        form = f" · a form of `{point.form_of}`" if point.form_of else ""
        gate = "" if point.gated else " · never gated by `enable` or `disable`"
        guard = " · guards ([Reliability](reliability.md))" if point.guards else ""
        lines += [
            "",
            f"### {point.name}",
            "",
            f"`{point.signature}`",
            "",
            f"Combined by **{point.rule.name}**{form}{gate}{guard}.",
            "",
            point.doc,
        ]
    return "\n".join(lines) + "\n"


def parts(kind: Kind, title: str, intro: str) -> str:
    lines = [f"# {title}", _NOTE, intro]
    for listed in Catalog().listing(kind):
        if listed.installed.source.distribution not in BUILTIN or listed.loaded is None:
            continue
        loaded = listed.loaded
        lines += ["", f"## {loaded.name}", "", inspect.getdoc(loaded.cls) or ""]
        if loaded.points:
            lines += ["", "Answers: " + ", ".join(f"`{point}`" for point in loaded.points) + "."]
        options = describe(loaded.cls.Options)
        if options:
            lines += ["", "| option | type | default | meaning |", "|---|---|---|---|"]
            lines += [
                f"| `{o.name}` | {o.type.replace('|', 'or')} |"
                f" {f'`{o.default}`' if str(o.default) else 'empty'} | {o.help} |"
                for o in options
            ]
    return "\n".join(lines) + "\n"


def shortcuts() -> str:
    lines = [
        "# Shortcuts",
        _NOTE,
        "What the engine does to be fast, by name. A shortcut saves work and changes no decision:",
        "a test decides a thousand random clusters with and without each. If you doubt one, do",
        "without it, by `--plain NAME` of `pumice run` and `pumice test` or in the policy:",
        "",
        "```toml",
        "[scheduler]",
        'plain = ["node_cache", "order_keys"]  # or ["all"]',
        "```",
        "",
        "If something else is decided then, it is a bug of Pumice, or a plugin reaches further",
        "than the `scope` that it declares; `--check` finds the latter.",
        "",
        "| shortcut | what is saved | what is done without it |",
        "|---|---|---|",
    ]
    builtin = [
        listed.loaded.cls
        for kind in ("plugin", "action")
        for listed in Catalog().listing(kind)
        if listed.loaded is not None and listed.installed.source.distribution in BUILTIN
    ]
    lines += [f"| `{s.name}` | {s.saves} | {s.instead} |" for s in declared(builtin).values()]
    return "\n".join(lines) + "\n"


def commands() -> str:
    lines = ["# Commands", _NOTE, "`pumice COMMAND --help` prints the same."]
    for path, command in _walk(pumice_command, "pumice"):
        # a fixed width, so that the page does not depend on whose terminal it is
        context = click.Context(command, info_name=path, terminal_width=78)
        lines += ["", f"## {path}", "", "```text", command.get_help(context), "```"]
    return "\n".join(lines) + "\n"


def _walk(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            if inner is not None:
                yield from _walk(inner, f"{path} {name}")


def pages() -> dict[Path, str]:
    return {
        DOCS / "api.md": api_page.page(_NOTE),
        DOCS / "extension-points.md": extension_points(),
        DOCS / "plugins.md": parts(
            "plugin",
            "Plugins",
            "The plugins of `pumice-builtin-plugins`, with the extension points that each answers"
            " and its options, set under `[plugin.NAME]` of a policy.",
        ),
        DOCS / "actions.md": parts(
            "action",
            "Actions",
            "The actions of `pumice-builtin-actions`, in the order of their names, with their"
            " options, set under `[action.NAME]` of a policy.",
        ),
        DOCS / "commands.md": commands(),
        DOCS / "directory.md": directory_page.page(_NOTE, BUILTIN),
        DOCS / "shortcuts.md": shortcuts(),
        DOCS / "img" / "flow.svg": drawing.flow(),
        DOCS / "img" / "cast.svg": cast.landing(),
        **{DOCS / "img" / f"{name}.svg": draw() for name, draw in worked.PICTURES.items()},
        **{DOCS / "img" / f"{walk.name}.svg": walks.draw(walk) for walk in walks.WALKS},
    }


def main() -> int:
    stale = [
        (path, text)
        for path, text in pages().items()
        if not path.exists() or path.read_text() != text
    ]
    check = "--check" in sys.argv[1:]
    for path, text in stale:
        if not check:
            path.write_text(text)
        sys.stdout.write(f"{'out of date:' if check else 'wrote'} {path.name}\n")
    return 1 if check and stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
