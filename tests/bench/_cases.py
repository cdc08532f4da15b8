"""Every case that is measured, and the policies they go by."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pumice.config.settings import AS_UPSTREAM
from pumice.model.facts import Inventory
from pumice.plugin import Plugin
from tests.bench._case import Case
from tests.bench._clusters import (
    full_of_others,
    kai_full,
    kai_half_used,
    kai_never_fits,
    kai_pending,
    pending_gangs,
)
from tests.bench._measure import (
    deciding,
    explaining,
    explaining_one,
    filtering,
    handing,
    loading,
    moving,
    opening,
    promising,
    recording,
    recording_jobs,
    rendering,
    reopening,
)
from tests.bench._own_plugin import Repair, RepairByRow
from tests.bench._serve import clicking

ALLOCATE, CONSOLIDATE = "fair_allocate", "consolidate"
RECLAIM_KAI, PREEMPT_KAI = "solve_reclaim", "solve_preempt"


def volcano(*plugins: str) -> dict[str, Any]:
    return {
        "actions": ["allocate"],
        "tiers": [
            {"plugins": ["priority", "gang", "conformance"]},
            {"plugins": list(plugins)},
        ],
        "scheduler": {"on_plugin_error": "raise"},
        "evictions": AS_UPSTREAM,
    }


def evicting(action: str) -> dict[str, Any]:
    """Tiers for the evicting actions; preempt may take jobs at their minimum."""
    spared: list[Any] = ["gang", "drf"]
    if action == "preempt":
        spared = [{"name": name, "disable": ["preemptable"]} for name in spared]
    return {
        "actions": [action],
        "tiers": [
            {"plugins": ["priority", spared[0], "conformance"]},
            {"plugins": [spared[1], "predicates", "proportion"]},
        ],
        "scheduler": {"on_plugin_error": "raise"},
        "evictions": AS_UPSTREAM,
    }


def kai(action: str) -> dict[str, Any]:
    policy = {"preset": "kai", "actions": [action], "scheduler": {"on_plugin_error": "raise"}}
    if action == CONSOLIDATE:
        policy["action"] = {action: {"maxNumberConsolidationPreemptees": -1}}
    return policy


SHARE_PLUGINS = ("drf", "predicates", "proportion", "nodeorder", "binpack")
PLAIN = volcano("predicates", "nodeorder", "binpack")
SHARES = volcano(*SHARE_PLUGINS)
EVICTING: Mapping[str, Mapping[str, Any]] = {
    "reclaim": evicting("reclaim"),
    "preempt": evicting("preempt"),
}
SOLVING = {"reclaim": RECLAIM_KAI, "preempt": PREEMPT_KAI}


def volcano_allocate(nodes: int, jobs: int, tasks: int, **others: Any) -> Case:
    given = {
        "kind": "allocate", "policy": SHARES, "cluster": pending_gangs, "measure": deciding,
        "placed": jobs * tasks,
    }  # fmt: skip
    return Case("volcano", nodes=nodes, jobs=jobs, tasks=tasks, **given | others)


def volcano_evicting(kind: str, nodes: int, jobs: int) -> Case:
    return Case(
        "volcano", kind, nodes, jobs, 1, EVICTING[kind], full_of_others, deciding,
        kind, placed=jobs, evicted=jobs,
    )  # fmt: skip


def kai_allocate(nodes: int, jobs: int, tasks: int, gpu: int = 0, **others: Any) -> Case:
    given = {
        "kind": "allocate", "policy": kai(ALLOCATE), "cluster": kai_pending, "measure": deciding,
        "placed": jobs * tasks,
    }  # fmt: skip
    return Case(
        "kai", nodes=nodes, jobs=jobs, tasks=tasks, action=ALLOCATE, gpu=gpu, **given | others
    )


def kai_evicting(kind: str, nodes: int, jobs: int, tasks: int) -> Case:
    action = SOLVING[kind]
    return Case(
        "kai", kind, nodes, jobs, tasks, kai(action), kai_full, deciding, action,
        gpu=1, placed=jobs * tasks, evicted=jobs * tasks,
    )  # fmt: skip


def consolidation(nodes: int) -> Case:
    jobs = nodes // 4
    return Case(
        "kai", "consolidation", nodes, jobs, 1, kai(CONSOLIDATE), kai_half_used, deciding,
        CONSOLIDATE, gpu=8, placed=jobs, evicted=4 * jobs,
    )  # fmt: skip


def failing(nodes: int) -> Case:
    """A gang that asks for one node more than there are."""
    return Case(
        "kai", "failing reclaim", nodes, 1, nodes + 1, kai(RECLAIM_KAI), kai_never_fits,
        explaining, RECLAIM_KAI, gpu=8,
    )  # fmt: skip


def own_plugin(kind: str, cls: type[Plugin], nodes: int, jobs: int) -> Case:
    """Volcano's allocate with a filter that a user wrote."""
    return volcano_allocate(
        nodes, jobs, 10, kind=kind, measure=filtering,
        policy=volcano(*SHARE_PLUGINS, "repair"), plugins={"repair": cls},
    )  # fmt: skip


def no_cluster(case: Case) -> Inventory:
    """For cases that bring their objects along otherwise."""
    return Inventory()


def load(nodes: int, jobs: int, tasks: int) -> Case:
    return Case("volcano", "load", nodes, jobs, tasks, {"preset": "volcano"}, no_cluster, loading)


def explain(nodes: int, jobs: int, tasks: int) -> Iterator[Case]:
    """Explain a waiting job of a dump.

    Typically the cluster is full and a part of the jobs waits: every fifth. Where only one job
    waits, little is decided besides it. Where all wait, the cycle that is explained places as many
    tasks as there is room for, and that is nearly all of its cost.
    """
    first = Case(
        "volcano", "explain", nodes, jobs, tasks, {"preset": "volcano"}, no_cluster, explaining_one
    )
    yield first
    yield replace(first, kind="explain, one job waits", every=jobs)
    yield replace(first, kind="explain, all jobs wait", every=1)


def click(nodes: int, jobs: int) -> Case:
    """The page on four running jobs for each node, and some that reclaim."""
    return Case(
        "volcano", "click on the page", nodes, jobs, 1, EVICTING["reclaim"], full_of_others,
        clicking, "reclaim",
    )  # fmt: skip


def _peers() -> Iterator[Case]:
    """The work that there is a peer's figure for."""
    for size in ((100, 100, 10), (1000, 1000, 10), (1000, 10_000, 1), (5000, 1000, 10)):
        yield volcano_allocate(*size)
    yield volcano_allocate(10_000, 1000, 10)
    for kind in ("reclaim", "preempt"):
        for nodes in (100, 1000):
            yield volcano_evicting(kind, nodes, nodes // 2)
    for size in ((100, 100, 8), (1000, 1000, 8), (1000, 8000, 1), (5000, 1000, 8)):
        yield kai_allocate(*size)
    yield kai_allocate(1000, 1000, 8, 1)
    yield kai_allocate(1000, 8000, 1, 1)
    for tasks in (1, 8):
        for nodes in (100, 500, 1000):
            yield kai_evicting("reclaim", nodes, nodes // 2, tasks)
    for nodes, tasks in ((100, 1), (500, 1), (1000, 1), (500, 8)):
        yield kai_evicting("preempt", nodes, nodes // 2, tasks)
    for nodes in (50, 100, 200):
        yield consolidation(nodes)


def _alone() -> Iterator[Case]:
    """The work without figures of a peer."""
    yield failing(1000)
    nothing: dict[str, Any] = {"placed": 0}
    makers: tuple[tuple[Callable[..., Case], int, int], ...] = (
        (volcano_allocate, 1000, 10),
        (kai_allocate, 1250, 8),
    )
    for make, jobs, tasks in makers:
        yield make(10_000, jobs, tasks, kind="open", measure=opening, **nothing)
        yield make(10_000, jobs, tasks, kind="second cycle", measure=reopening, **nothing)
        yield make(
            10_000, jobs, tasks, kind="second cycle with nodes changed", measure=moving, **nothing
        )
    yield load(5000, 5000, 10)
    yield volcano_allocate(10_000, 100_000, 1)
    yield kai_allocate(10_000, 100_000, 1)
    yield volcano_allocate(10_000, 1000, 10, kind="plain allocate", policy=PLAIN)
    yield own_plugin("own predicate", Repair, 1000, 100)
    yield own_plugin("own predicate by row", RepairByRow, 1000, 300)
    yield volcano_allocate(1000, 1000, 10, kind="ledger", measure=recording)
    yield kai_allocate(1000, 1000, 8, kind="ledger", measure=recording)
    yield volcano_allocate(1000, 300, 10, kind="ledger to a sink", measure=handing)
    yield volcano_allocate(1000, 1000, 10, kind="job ledger", measure=recording_jobs)
    yield replace(volcano_evicting("reclaim", 1000, 500), kind="job ledger", measure=recording_jobs)
    yield replace(kai_evicting("reclaim", 500, 250, 1), kind="job ledger", measure=recording_jobs)
    yield volcano_allocate(1000, 1800, 10, kind="render", measure=rendering)
    yield from explain(5000, 5000, 10)
    yield click(5000, 20)
    for kind in ("reclaim", "preempt"):
        evicting = volcano_evicting(kind, 1000, 500), kai_evicting(kind, 500, 250, 1)
        for case in evicting:
            yield replace(case, kind=f"{kind} with promises", measure=promising)


CASES = [*_peers(), *_alone()]
