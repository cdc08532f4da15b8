"""Rows of the table: a case's figures beside the unit, the peer and what must come out."""

from __future__ import annotations

from typing import Any

from tests.bench._case import Case, Measured
from tests.bench._peers import CPU as PEERS
from tests.bench._peers import UNIT as PEER_UNIT
from tests.bench._targets import target_of

Row = dict[str, Any]

KEYS = (
    "family", "kind", "nodes", "jobs", "tasks", "gpu", "cpu", "open", "unit",
    "placed", "evicted", "peer", "ratio",
)  # fmt: skip
"""What every row has; one of those in WAITING says ``pending`` for ``jobs``."""
WAITING = frozenset({"reclaim", "preempt", "consolidation", "failing reclaim", "click on the page"})
"""Kinds whose jobs wait beside others that run."""
SMALLEST = 1e-3
"""Below it a clock says little, so ratios end there."""


def make_row(case: Case, measured: Measured, unit: float, mib: float) -> Row:
    """The row of a case. ``peer`` is carried to this machine by the unit."""
    row: Row = {
        "family": case.family,
        "kind": case.kind,
        "nodes": case.nodes,
        count_key(case.kind): case.jobs,
        "tasks": case.tasks,
        "gpu": case.gpu,
        **figures(measured, unit, mib),
        "times": None if measured.times is None else round(measured.times, 3),
        "wrong": problems(case, measured),
    }
    peer = PEERS.get(case.size)
    if peer is not None:
        row["peer"] = round(peer * unit / PEER_UNIT, 3)
        row["ratio"] = round(row["peer"] / max(measured.cpu, SMALLEST), 2)
    target = target_of(case.size)
    if target is not None:
        row["target"] = str(target)
        row["met"] = target.met(row)
    return row


def figures(measured: Measured, unit: float, mib: float) -> Row:
    """What the rows of all cases have; nothing is said yet of peers and targets."""
    return {
        "cpu": round(measured.cpu, 4),
        "open": round(measured.open, 4),
        "unit": round(unit, 4),
        "placed": measured.placed,
        "evicted": measured.evicted,
        "peer": None,
        "ratio": None,
        "wall": round(measured.wall, 4),
        "mib": round(mib),
        "target": None,
        "met": None,
    }


def count_key(kind: str) -> str:
    """How a row of this kind calls the number of jobs that wait."""
    return "pending" if kind in WAITING else "jobs"


def problems(case: Case, measured: Measured) -> list[str]:
    """What came out otherwise than the case says."""
    wrong = [
        f"{what} {got:,}, not {wanted:,}"
        for what, got, wanted in (
            ("placed", measured.placed, case.placed),
            ("evicted", measured.evicted, case.evicted),
        )
        if got != wanted
    ]
    return [*wrong, *measured.wrong]
