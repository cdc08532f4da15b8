"""The engine does no more operations than recorded, so that no cost grows unnoticed."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.bench._cases import CASES
from tests.bench._operations import COMPARISONS, NODES, SIMULATIONS, count_operations

RECORD = Path(__file__).with_name("operations.json")
UPDATE = "PUMICE_UPDATE_OPERATIONS"
SLACK = 1.02
"""So many times the recorded number is no growth yet."""


def small(family: str, kind: str, nodes: int, jobs: int, tasks: int):
    """A case of the bench in a size that costs nothing to run."""
    like = next(
        case
        for case in CASES
        if (case.family, case.kind, case.tasks > 1) == (family, kind, tasks > 1)
    )
    evicted = {"reclaim": jobs * tasks, "preempt": jobs * tasks, "consolidation": 4 * jobs}
    return replace(
        like, nodes=nodes, jobs=jobs, tasks=tasks, placed=jobs * tasks, evicted=evicted.get(kind, 0)
    )


ROWS = [
    small("volcano", "allocate", 100, 50, 10),
    small("kai", "allocate", 100, 50, 8),
    small("kai", "reclaim", 50, 20, 8),
    small("kai", "consolidation", 50, 10, 1),
]


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case.name)
def test_no_operation_is_counted_more_often_than_recorded(case):
    counted = count_operations(case)
    record = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    if os.environ.get(UPDATE):
        record[case.name] = counted
        RECORD.write_text(json.dumps(record, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    known = record[case.name]
    grown = [
        f"{name}: {known[name]} before, {count} now"
        for name, count in counted.items()
        if count > known[name] * SLACK
    ]
    assert not grown, (
        f"{case.name} does more than it did: {'; '.join(grown)}. If that is worth it, run this "
        f"test with {UPDATE}=1 and commit {RECORD.name}."
    )


@pytest.mark.parametrize(
    "case, larger, what, most",
    [
        (ROWS[0], {"nodes": 200}, NODES, 1.2),
        (ROWS[0], {"jobs": 100, "placed": 1000}, NODES, 2.0),
        (ROWS[0], {"jobs": 100, "placed": 1000}, COMPARISONS, 2.4),
        (ROWS[1], {"nodes": 200}, NODES, 1.8),
        (ROWS[1], {"jobs": 100, "placed": 800}, NODES, 2.0),
        (ROWS[1], {"jobs": 100, "placed": 800}, COMPARISONS, 2.4),
        (ROWS[2], {"nodes": 100}, SIMULATIONS, 1.0),
        (ROWS[2], {"jobs": 40, "nodes": 100, "placed": 320, "evicted": 320}, SIMULATIONS, 2.0),
        (ROWS[3], {"jobs": 20, "nodes": 100, "placed": 20, "evicted": 80}, SIMULATIONS, 2.5),
    ],
)
def test_costs_grow_as_they_should(case, larger, what, most):
    """Twice the nodes hardly matter, twice the work costs hardly more than twice.

    The span of what is free moves until the first node is full: so long all nodes are scored.
    """
    before, after = count_operations(case)[what], count_operations(replace(case, **larger))[what]
    assert after <= before * most, f"{what}: {before} for {case.name}, {after} with {larger}"


def test_the_counters_see_extra_work():
    """Without the node caches, plugins are called for far more nodes."""
    case = ROWS[0]
    plain = replace(case, policy={**case.policy, "scheduler": {"plain": ["node_cache"]}})
    assert count_operations(plain)[NODES] > 10 * count_operations(case)[NODES]
