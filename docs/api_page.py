"""The API page: everything that the public modules export, by subject, with examples."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from api_source import MODULES, Entry, Member, entries, shown, signature

DOCS = Path(__file__).parent


class Group(NamedTuple):
    title: str
    intro: str
    homes: tuple[str, ...]
    """Where the names of the group are defined: modules, or packages that end with a dot. The
    longest that fits decides."""
    example: str = ""
    """A file in docs/examples/api."""


GROUPS = (
    Group(
        "Writing plugins and actions",
        "A plugin answers extension points by methods that `hookimpl` marks; an action is one step"
        " of a cycle. [Write a plugin](write-a-plugin.md) and [Write an action](write-an-action.md)"
        " explain how, [Extension points](extension-points.md) lists every hook.",
        (
            "pumice",
            "pumice.plugin",
            "pumice.action",
            "pumice.hookspecs.",
            "pumice.config.duration",
            "pumice.shortcuts",
        ),
        "plugin.py",
    ),
    Group(
        "Answers of plugins",
        "What extension points take and return, and what is raised.",
        ("pumice.verdicts", "pumice.errors", "pumice.status"),
    ),
    Group(
        "Combination rules",
        "`from pumice import combine`: how the answers of several plugins become one. An extension"
        " point of your own names one of these rules.",
        ("pumice.combine.",),
    ),
    Group(
        "What a session gives",
        "A session is one cycle. Actions get it as the argument of `execute`, plugins have it as"
        " `self.session`.",
        ("pumice.session.",),
        "action.py",
    ),
    Group(
        "Node queries",
        "`session.queries` answers which nodes can take a task and which is best; cursors read"
        " what changed since they were last asked.",
        (
            "pumice.session.nodes.",
            "pumice.fit_errors",
            "pumice.model.cursors",
            "pumice.model.fitting",
        ),
    ),
    Group(
        "Statements",
        "All changes of a session go through statements, which can be undone exactly.",
        ("pumice.session.statement", "pumice.session.operations"),
    ),
    Group(
        "Model",
        "Tasks, jobs, queues and nodes as a session sees them, and the facts that they are made"
        " from. Facts are never changed; what changes does so through statements.",
        ("pumice.model.",),
    ),
    Group(
        "Solver",
        "`from pumice import solver`: find victims for a job and prove by a simulation that it"
        " fits without them.",
        ("pumice.solver.",),
        "solver_action.py",
    ),
    Group(
        "Decisions and running",
        "A scheduler runs a policy on a backend. A backend is named by an entry point of the group"
        " `pumice.backends`, and `pumice run --backend NAME` uses it.",
        (
            "pumice.decisions",
            "pumice.faults",
            "pumice.scheduler",
            "pumice.telemetry",
            "pumice.backends.",
            "pumice.config.",
            "pumice.ledger",
        ),
        "backend.py",
    ),
    Group(
        "Kubernetes rules", "`from pumice import kube`.", ("pumice.kube.", "pumice.model.quantity")
    ),
    Group("GPUs", "`from pumice import gpu`.", ()),
    Group("Gangs", "`from pumice import gang`.", ()),
    Group("Manifests", "`from pumice import manifests`.", ("pumice.manifests.",)),
    Group(
        "Simulation, traces and measures",
        "`pumice.simulation` replays a trace. Formats of traces are entry points of the group"
        " `pumice.traces`, measures of `pumice.measures`; [Simulate](simulate.md) lists those that"
        " are there.",
        ("pumice.simulation.", "pumice.traces.", "pumice.measures."),
        "measure.py",
    ),
    Group(
        "Testing",
        "`pumice.testing` has a pytest plugin: the fixtures `cluster` and `schedule` are there"
        " wherever `pumice-framework[testing]` is installed.",
        ("pumice.testing.",),
    ),
)
_OF_MODULE = {"pumice.gpu": "GPUs", "pumice.gang": "Gangs", "pumice.kube": "Kubernetes rules"}
"""Public modules whose names make a group whatever module defines them."""
GIVEN = frozenset(
    {
        "Action",
        "Cluster",
        "Dispatch",
        "EvictionGuard",
        "NodeTask",
        "HyperNodeTree",
        "Job",
        "Members",
        "NodeHandle",
        "NodeQueries",
        "NodeTable",
        "NodeView",
        "Operation",
        "Order",
        "Plan",
        "Plugin",
        "Session",
        "Shard",
        "SnapshotCache",
        "Statement",
        "SubJob",
        "Task",
    }
)
"""Classes that authors do not construct: their constructors are not shown."""


def group_of(entry: Entry) -> Group:
    for module, title in _OF_MODULE.items():
        if entry.modules == [module]:
            return next(group for group in GROUPS if group.title == title)
    home = entry.place.module
    fits = [
        (len(prefix), group)
        for group in GROUPS
        for prefix in group.homes
        if home == prefix.removesuffix(".") or (prefix.endswith(".") and home.startswith(prefix))
    ]
    if not fits:
        raise LookupError(f"docs/api_page.py: no group for {entry.name} of {home}")
    return max(fits, key=lambda fit: fit[0])[1]


def _text(doc: str) -> str:
    """A docstring as Markdown."""
    doc = re.sub(r":\w+:`~?([^`]+)`", lambda m: f"`{m[1].split('.')[-1]}`", doc)
    return doc.replace("``", "`")


def _first(doc: str) -> str:
    return _text(" ".join(doc.partition("\n\n")[0].split()))


def _paragraphs(doc: str) -> str:
    return _text(re.sub(r"^(\s*)>>> .*$", r"\1    \g<0>", doc, flags=re.MULTILINE))


def _lines(listed: Iterable[Member]) -> Iterator[str]:
    for member in listed:
        yield f"- `{member.text}`" + (f": {_first(member.doc)}" if member.doc else "")


def _section(entry: Entry) -> Iterator[str]:
    place = entry.place
    imported = " or ".join(f"`{module}`" for module in entry.modules)
    yield from ("", f"### {entry.name}", "")
    if isinstance(place.node, ast.FunctionDef):
        text = entry.name + signature(place.node)
        yield from (f"`{text}` · from {imported}", "", _first(place.doc))
        return
    if not isinstance(place.node, ast.ClassDef):
        value = shown(place.node.value)  # type: ignore[attr-defined]
        given = f" = {value}" if len(value) <= 60 else ""
        yield from (f"`{entry.name}{given}` · from {imported}", "", _first(place.doc))
        return
    bases = [shown(base) for base in place.node.bases]
    yield f"`class {entry.name}{'(' + ', '.join(bases) + ')' if bases else ''}` · from {imported}"
    yield from ("", _paragraphs(place.doc))
    init = next(
        (s for s in place.node.body if isinstance(s, ast.FunctionDef) and s.name == "__init__"),
        None,
    )
    if init is not None and entry.name not in GIVEN:
        made = re.sub(r" -> None$", "", signature(init))
        yield from ("", f"Made by `{entry.name}{made}`.")
    if entry.values:
        yield from ("", "Values: " + ", ".join(f"`{value}`" for value in entry.values) + ".")
    if entry.members:
        yield ""
        yield from _lines(m for m in entry.members if not m.is_method)
        yield from _lines(m for m in entry.members if m.is_method)
    for name, more in entry.inherited:
        listed = ", ".join(f"`{member.name}`" for member in more)
        yield from ("", f"From `{name}`: {listed}.")


def page(note: str) -> str:
    lines = [
        "# Public API",
        note,
        "What plugins, actions and backends may import, by subject: the modules "
        + ", ".join(f"`{module}`" for module in MODULES)
        + ". What is not on this page is not public, whatever its name; see"
        " [Compatibility](compatibility.md).",
    ]
    by_group: dict[str, list[Entry]] = {group.title: [] for group in GROUPS}
    for entry in entries():
        by_group[group_of(entry).title].append(entry)
    for group in GROUPS:
        listed = sorted(
            by_group[group.title],
            key=lambda e: (e.kind == "constant", e.place.module, e.place.node.lineno),
        )
        lines += ["", f"## {group.title}", "", group.intro]
        if group.example:
            source = (DOCS / "examples" / "api" / group.example).read_text(encoding="utf-8")
            lines += ["", "```python", source.rstrip(), "```"]
        for entry in listed:
            lines += _section(entry)
    return "\n".join(lines) + "\n"
