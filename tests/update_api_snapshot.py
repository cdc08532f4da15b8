"""Write ``api_snapshot.json``: the public API that changes are compared with.

Run ``python tests/update_api_snapshot.py`` once the changelog mentions what changed: it refuses
before.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pumice
from pumice.config.options import names
from pumice.discovery import Catalog, Kind
from pumice.hookspecs import POINTS

SNAPSHOT = Path(__file__).parent / "api_snapshot.json"
CHANGELOG = Path(__file__).parent.parent / "docs" / "changelog.md"
MODULES = (
    *("combine", "gang", "gpu", "kube", "manifests", "measures", "simulation", "solver"),
    *("testing", "traces"),
)
"""The documented modules besides ``pumice`` itself."""
KINDS: tuple[Kind, ...] = ("plugin", "action")
Api = dict[str, Any]


def current_api() -> Api:
    """What plugin authors and policies rely on."""
    catalog = Catalog()
    return {
        "version": pumice.__version__,
        "names": sorted(pumice.__all__),
        "modules": {name: sorted(import_module(f"pumice.{name}").__all__) for name in MODULES},
        "points": {
            point.name: f"{point.signature} [{point.rule.name}]" for point in POINTS.values()
        },
        **{
            f"{kind}s": {
                line.installed.name: sorted(names(line.loaded.cls.Options))
                for line in catalog.listing(kind)
                if line.loaded is not None
                and line.installed.source.distribution == f"pumice-builtin-{kind}s"
            }
            for kind in KINDS
        },
    }


def changes(old: Api, new: Api) -> Iterator[tuple[str, str]]:
    """Every (what happened, name to be mentioned) between two states of the API."""
    yield from _sets("name", old["names"], new["names"])
    for module in MODULES:
        yield from _sets(
            f"name of pumice.{module}:",
            old.get("modules", {}).get(module, ()),
            new["modules"].get(module, ()),
        )
    yield from _sets("extension point", old["points"], new["points"])
    for point in old["points"].keys() & new["points"].keys():
        if old["points"][point] != new["points"][point]:
            yield f"extension point {point} changed", point
    for kind in KINDS:
        before, after = old[f"{kind}s"], new[f"{kind}s"]
        yield from _sets(kind, before, after)
        for name in before.keys() & after.keys():
            yield from _sets(f"option of {kind} {name}:", before[name], after[name])


def _sets(what: str, old: Any, new: Any) -> Iterator[tuple[str, str]]:
    for name in sorted(set(old) ^ set(new)):
        yield f"{what} {name} {'added' if name in new else 'removed'}", name


def news(changelog: str, version: str) -> str:
    """The part of the changelog that is newer than the release of this version."""
    released = re.search(rf"^## \[?v?{re.escape(version)}\b", changelog, re.MULTILINE)
    return changelog[: released.start()] if released else changelog


def unmentioned(old: Api, new: Api, changelog: str) -> list[str]:
    """The changes whose name, in backquotes, the changelog does not mention."""
    text = news(changelog, old["version"])
    mentioned = {
        word for quoted in re.findall(r"`([^`]+)`", text) for word in re.split(r"[ =(]", quoted)
    }
    return sorted(what for what, name in changes(old, new) if name not in mentioned)


def main() -> int:
    new = current_api()
    if SNAPSHOT.exists():
        missing = unmentioned(json.loads(SNAPSHOT.read_text()), new, CHANGELOG.read_text())
        if missing:
            lines = "\n  ".join(missing)
            sys.stderr.write(f"docs/changelog.md does not mention (in `backquotes`):\n  {lines}\n")
            return 1
    SNAPSHOT.write_text(json.dumps(new, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
