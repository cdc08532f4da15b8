"""The plugin directory: what comes with Pumice, what is in contrib, what others have listed."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pumice.discovery import Catalog, Kind

DOCS = Path(__file__).parent
KINDS = {
    "pumice.plugins": "plugin",
    "pumice.actions": "action",
    "pumice.hookspecs": "extension points",
    "pumice.backends": "backend",
    "pumice.traces": "trace format",
    "pumice.measures": "measure",
}
"""What the entry points of a group are."""

_INTRO = """\
What there is to list in a policy. `pumice plugins`, `pumice actions` and `pumice hooks` say what is
installed here.
"""
_HOW = """
## How to be listed

What makes a distribution part of Pumice is an entry point, in any of these groups; nothing is
registered anywhere else.

| entry-point group | what it adds |
|---|---|
{groups}

[Write a plugin](write-a-plugin.md) has the way from an idea to a wheel. Before you publish one:

- Call it `pumice-SOMETHING`, and have the keyword `pumice-plugin`, by which an index finds it.
  `pumice new` writes both.
- Take the classifier `Topic :: System :: Clustering`. There is no `Framework :: Pumice` yet: an
  index refuses classifiers that are not on its list (the project
  [trove-classifiers](https://github.com/pypa/trove-classifiers)), and so does hatchling. A
  classifier of its own is asked for there once there are distributions to bear it; `Private :: Do
  Not Upload` keeps one that is not meant for others off an index.
- Depend on `pumice-framework` by a range of one minor version
  ([Compatibility](compatibility.md)), and import nothing but [the public API](api.md).
- Test it with `PluginContract` and a scenario file for each promise of its README.

Then open a pull request that adds it to `docs/listed.toml`: name, one sentence, home page, parts.
Listed is what installs with the current version, passes its own tests and says in its README what
it decides. Being listed is no review: a plugin can do whatever the process can
([Security](security.md)).
"""


def page(note: str, builtin: tuple[str, ...]) -> str:
    lines = ["# Plugin directory", note, _INTRO, "## Built-in plugins", ""]
    lines += _builtin("plugin", builtin)
    lines += ["", "## Built-in actions", "", *_builtin("action", builtin), "", "## In contrib", ""]
    lines += [
        "Distributions of this repository that `pumice` does not install.",
        "",
        "| distribution | what | parts |",
        "|---|---|---|",
        *(_row(each) for each in contrib()),
    ]
    listed = tomllib.loads((DOCS / "listed.toml").read_text(encoding="utf-8"))
    others = listed.get("distribution", [])
    lines += ["", "## By others", ""]
    if others:
        lines += ["| distribution | what | parts |", "|---|---|---|", *(_row(o) for o in others)]
    else:
        lines.append("None is listed yet.")
    groups = "\n".join(f"| `{group}` | {_articled(what)} |" for group, what in KINDS.items())
    return "\n".join(lines) + "\n" + _HOW.format(groups=groups)


def contrib() -> Iterator[Mapping[str, Any]]:
    """Name, description and parts of every distribution in contrib."""
    for file in sorted(DOCS.parent.glob("contrib/*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        parts = [
            f"{KINDS[group]} `{name}`"
            for group, names in project.get("entry-points", {}).items()
            for name in names
        ]
        parts += [f"command `{name}`" for name in project.get("scripts", {})]
        yield {"name": project["name"], "what": project["description"], "parts": parts}


def _builtin(kind: Kind, distributions: tuple[str, ...]) -> list[str]:
    lines = [f"| {kind} | what it does |", "|---|---|"]
    for listed in Catalog().listing(kind):
        if listed.loaded is None or listed.installed.source.distribution not in distributions:
            continue
        name = listed.loaded.name
        said = (
            (inspect.getdoc(listed.loaded.cls) or "")
            .split("\n\n")[0]
            .replace("\n", " ")
            .replace("``", "`")
        )
        lines.append(f"| [`{name}`]({kind}s.md#{name}) | {said} |")
    return lines


def _row(listed: Mapping[str, Any]) -> str:
    name = f"[`{listed['name']}`]({listed['home']})" if "home" in listed else f"`{listed['name']}`"
    return f"| {name} | {listed['what']} | {', '.join(listed['parts'])} |"


def _articled(what: str) -> str:
    if what.endswith("s"):
        return what
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
