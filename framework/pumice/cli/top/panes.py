"""The tables of the page: queues, nodes and jobs of one cycle."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from pumice.cli._decisions import PROMISED_CODE
from pumice.cli._table import Table
from pumice.model.quantity import PODS, shown
from pumice.serve.views import CycleView, JobRow

NAMES = ("queues", "nodes", "jobs")
_BAR = 10
STATES = {
    "waiting": "yellow",
    "promised": "cyan",
    "evicted": "red",
    "running": "green",
    "completed": "blue",
}
"""The states of jobs in the order in which they are listed, and their colours."""
_AMOUNTS = ("ALLOCATED", "REQUEST", "DESERVED", "FAIR SHARE", "LIMIT")


@dataclass(frozen=True, slots=True)
class Pane:
    """One table and the names of what its rows show."""

    table: Table
    keys: Sequence[str]
    total: int
    """How many rows there are without the filter."""


def make_pane(name: str, view: CycleView, resource: str, text: str = "") -> Pane:
    """The pane of this name; only rows that contain all words of ``text``."""
    return _MAKERS[name](view, resource, text.lower().split())


def bar(part: float, size: int = _BAR) -> str:
    """How much of something is used."""
    filled = min(size, max(round(part * size), 0))
    return "█" * filled + "░" * (size - filled)


def _queues(view: CycleView, resource: str, words: Sequence[str]) -> Pane:
    column = view.dimensions.index(resource)
    rows = []
    for row in view.queues:
        amounts: tuple[float | None, ...] = (
            int(row.allocated[column]),
            int(row.request[column]),
            row.deserved.get(resource),
            row.fair_share.get(resource),
            row.limit.get(resource),
        )
        texts = ["" if amount is None else shown(resource, amount) for amount in amounts]
        part = "" if row.share is None else f"{row.share:.0%}"
        label = "  " * row.depth + row.queue + ("" if row.state == "Open" else f" ({row.state})")
        rows.append((row.queue, (label, *texts, part, row.jobs, row.waiting)))
    heads = ("QUEUE", *_AMOUNTS, "SHARE", "JOBS", "WAITING")
    return _pane(heads, rows, words, right=heads[1:])


def _nodes(view: CycleView, resource: str, words: Sequence[str]) -> Pane:
    table = view.nodes
    listed = [resource, *(n for n in main_resources(view) if n not in (resource, PODS))]
    columns = [view.dimensions.index(name) for name in listed]
    rows = []
    for number, name in enumerate(table.names):
        cells = []
        for each, column in zip(listed, columns, strict=True):
            used = table.pods[number] if each == PODS else table.used[number, column]
            cells.append(f"{shown(each, used)}/{shown(each, table.allocatable[number, column])}")
        if resource != PODS:
            cells.append(str(table.pods[number]))
        has, uses = table.allocatable[number, columns[0]], table.used[number, columns[0]]
        uses = table.pods[number] if resource == PODS else uses
        state = "closed" if table.closed[number] else ""
        rows.append((name, (name, bar(uses / has) if has else "", *cells, state)))
    heads = ("NODE", "USED", *map(short_name, listed), *["PODS"] * (resource != PODS), "STATE")
    return _pane(heads, rows, words, right=heads[2:-1], styles={"STATE": "red"})


def _jobs(view: CycleView, resource: str, words: Sequence[str]) -> Pane:
    order = list(STATES)
    rows = [
        (
            row.job,
            (
                row.job,
                row.queue,
                job_state(row),
                f"{row.ready}/{row.tasks}",
                f"{row.code}: {row.reason}" if row.code else row.reason,
            ),
        )
        for row in sorted(view.jobs, key=lambda row: order.index(job_state(row)))
    ]
    heads = ("JOB", "QUEUE", "STATE", "READY", "WHY")
    return _pane(heads, rows, words, right=("READY",), styles={"STATE": STATES})


def job_state(row: JobRow) -> str:
    """The state of a job; one whose room is being freed does not wait like the others."""
    is_promised = row.state == "waiting" and row.code == PROMISED_CODE
    return "promised" if is_promised else row.state


_MAKERS: dict[str, Callable[[CycleView, str, Sequence[str]], Pane]] = {
    "queues": _queues,
    "nodes": _nodes,
    "jobs": _jobs,
}


def _pane(
    heads: Sequence[str],
    rows: Sequence[tuple[str, Sequence[Any]]],
    words: Sequence[str],
    **settings: Any,
) -> Pane:
    """The rows that match, without empty columns; the first and the last column stay."""
    used = [
        number
        for number in range(len(heads))
        if number in (0, len(heads) - 1) or any(cells[number] != "" for _, cells in rows)
    ]
    table = Table(*(heads[number] for number in used), **settings)
    keys = []
    for key, cells in rows:
        if _matches(cells, words):
            keys.append(key)
            table.add(*(cells[number] for number in used))
    return Pane(table, keys, len(rows))


def _matches(cells: Iterable[Any], words: Sequence[str]) -> bool:
    if not words:
        return True
    text = " ".join(map(str, cells)).lower()
    return all(word in text for word in words)


def main_resources(view: CycleView) -> list[str]:
    """GPUs, CPUs and memory, as far as the cluster has them."""
    gpus = [name for name in view.resources if name.endswith("/gpu")]
    return [*gpus, *(name for name in ("cpu", "memory") if name in view.resources)]


def short_name(resource: str) -> str:
    """The head of a resource's column."""
    return resource.rpartition("/")[2].upper()
