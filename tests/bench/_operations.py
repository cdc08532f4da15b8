"""Counts what a cycle does: nodes asked about, plans simulated, places compared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from pumice.backends.memory import MemoryBackend
from pumice.combine import Impl
from pumice.config import policy_from_dict
from pumice.scheduler import Scheduler
from pumice.session import dispatch
from pumice.session.nodes.voters import FilterVoter, ScoreVoter
from pumice.solver.simulation import Simulation
from tests.bench._case import Case

NODES = "nodes asked about"
SIMULATIONS = "plans simulated"
COMPARISONS = "places compared"
_ORDERS = frozenset(
    f"{thing}_order{form}"
    for thing in ("queue", "victim_queue", "job", "task", "sub_job", "pod_set")
    for form in ("", "_key")
)


def count_operations(case: Case) -> dict[str, int]:
    """What the action of a case does, its session being open."""
    counts: Counter[str] = Counter()
    with _counting(counts):
        scheduler = Scheduler(
            MemoryBackend(case.cluster(case)), policy_from_dict(case.policy, where=case.name)
        )
        (action,) = (action for action in scheduler.holder.actions if action.name == case.action)
        session = scheduler.open_session()
        counts.clear()
        scheduler.run_action(session, action)
    decisions = scheduler.finish(session)
    placed = sum(1 for d in (*decisions.binds, *decisions.pipelined) if d.uid.startswith("job-"))
    assert (placed, len(decisions.evictions)) == (case.placed, case.evicted), case.name
    return {name: counts[name] for name in (NODES, SIMULATIONS, COMPARISONS)}


@contextmanager
def _counting(counts: Counter[str]) -> Iterator[None]:
    """Count whatever is done inside; nothing in the engine knows of it."""
    implementations = dispatch.implementations

    def counted(point: Any, tiers: Any, **given: Any) -> list[list[tuple[Impl, Any]]]:
        voters = implementations(point, tiers, **given)
        if point.name not in _ORDERS:
            return voters
        return [[(_compared(impl, counts), plugin) for impl, plugin in tier] for tier in voters]

    def one(form: Callable[..., Any]) -> Callable[..., Any]:
        def asked(voter: Any, task: Any, node: Any) -> Any:
            if voter.scalar is not None:
                counts[NODES] += 1
            return form(voter, task, node)

        return asked

    def many(form: Callable[..., Any]) -> Callable[..., Any]:
        def asked(voter: Any, task: Any, nodes: Any, rows: Any) -> Any:
            if voter.vector is not None:
                counts[NODES] += len(nodes) if rows is None else len(rows)
            return form(voter, task, nodes, rows)

        return asked

    run = Simulation.run

    def simulated(*args: Any, **given: Any) -> Any:
        counts[SIMULATIONS] += 1
        return run(*args, **given)

    with (
        mock.patch.object(dispatch, "implementations", counted),
        mock.patch.object(FilterVoter, "one", one(FilterVoter.one)),
        mock.patch.object(FilterVoter, "many", many(FilterVoter.many)),
        mock.patch.object(ScoreVoter, "one", one(ScoreVoter.one)),
        mock.patch.object(ScoreVoter, "many", many(ScoreVoter.many)),
        mock.patch.object(Simulation, "run", simulated),
    ):
        yield


def _compared(impl: Impl, counts: Counter[str]) -> Impl:
    def asked(*args: Any) -> Any:
        counts[COMPARISONS] += 1
        return impl.fn(*args)

    return Impl(impl.plugin, asked, impl.source)
