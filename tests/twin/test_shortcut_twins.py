"""Every shortcut of the engine, and all together: with and without, the same is decided."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Any

import pytest

from pumice.config import Policy
from pumice.decisions import Decisions
from pumice.discovery import Catalog
from pumice.errors import ActionError, StatementError
from pumice.shortcuts import ALL
from tests.sampling import sample
from tests.twin.lies import LIES, OF_CROWDS, OF_SMALL_JOBS, Lie
from tests.twin.small_jobs import crowded_world, small_jobs_world
from tests.twin.worlds import POLICIES, SOLVING, TwinWorld, seeded_twin_world

SHORTCUTS = Catalog().shortcuts
CLUSTERS = 1000
BLOCKS = 25


@pytest.mark.parametrize("block", range(4))
def test_shortcuts_change_no_decision(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    compare(sample(f"twins {block}", CLUSTERS, 12), monkeypatch)


def test_shortcuts_change_no_decision_about_small_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(sample("small jobs", CLUSTERS, 2), monkeypatch, small_jobs_world)


def test_shortcuts_change_no_decision_in_a_crowd(monkeypatch: pytest.MonkeyPatch) -> None:
    compare(sample("crowds", CLUSTERS, 2), monkeypatch, crowded_world)


@pytest.mark.long
@pytest.mark.parametrize("block", range(BLOCKS))
def test_shortcuts_change_no_decision_of_any_seed(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    each = CLUSTERS // BLOCKS
    seeds = range(block * each, (block + 1) * each)
    compare(seeds, monkeypatch)
    # These are larger: a few of each block.
    compare(seeds[::20], monkeypatch, small_jobs_world)
    compare(seeds[::20], monkeypatch, crowded_world)


def compare(
    seeds: Iterable[int],
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[int], TwinWorld] = seeded_twin_world,
) -> None:
    """Each cluster is decided with all shortcuts, without each, and without any."""
    asked = asked_for(monkeypatch)
    for seed in seeds:
        world = make(seed)
        asked.clear()
        with_all = world.run()
        # A shortcut that the run never asked for cannot matter.
        for name in (*(name for name in SHORTCUTS if name in asked), ALL):
            other = difference(with_all, world.run((name,)))
            assert other is None, f"seed {seed} ({world.policy_name}) without {name}: {other}"


def asked_for(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A set that the names of the shortcuts go into that are asked for from now on."""
    asked: set[str] = set()
    uses = Policy.uses

    def noting(policy: Policy, shortcut: str) -> bool:
        asked.add(shortcut)
        return uses(policy, shortcut)

    monkeypatch.setattr(Policy, "uses", noting)
    return asked


def difference(left: list[Decisions], right: list[Decisions]) -> str | None:
    """The first thing that was decided differently."""
    for cycle, (ours, theirs) in enumerate(zip(left, right, strict=True), 1):
        for part in fields(Decisions):
            mine, other = getattr(ours, part.name), getattr(theirs, part.name)
            if mine != other:
                pairs = zip(_listed(mine), _listed(other), strict=False)
                one, two = next((p for p in pairs if p[0] != p[1]), (len(mine), len(other)))
                return f"cycle {cycle}, {part.name}: with it {one}, without {two}"
    return None


def _listed(part: Any) -> list[Any]:
    return list(part.items()) if isinstance(part, dict) else list(part)


# -- the comparison can fail


@pytest.mark.parametrize(
    "name, lie",
    [
        pytest.param(name, lie, id=lie.__name__, marks=[pytest.mark.long] if number else [])
        for name, lies in LIES.items()
        for number, lie in enumerate(lies)
    ],
)
def test_a_shortcut_that_lies_is_found(
    name: str, lie: Lie, monkeypatch: pytest.MonkeyPatch
) -> None:
    lie(monkeypatch)
    make = small_jobs_world if lie in OF_SMALL_JOBS else seeded_twin_world
    make = crowded_world if lie in OF_CROWDS else make
    assert any(_is_found(make(seed), name) for seed in range(CLUSTERS))


def _is_found(world: TwinWorld, name: str) -> bool:
    try:
        return difference(world.run(), world.run((name,))) is not None
    except (StatementError, ActionError):  # a lie may lead to what cannot be done
        return True


def test_every_shortcut_can_lie() -> None:
    assert set(LIES) == set(SHORTCUTS) - {"gc_pause"}


@pytest.mark.long
def test_the_random_clusters_are_worth_it() -> None:
    """All that is decided anywhere is decided in some of them."""
    seen: Counter[str] = Counter()
    for seed in range(300):
        world = seeded_twin_world(seed)
        seen[world.policy_name] += 1
        for decisions in world.run():
            seen["bind"] += len(decisions.binds)
            seen["share of a GPU"] += sum(1 for bind in decisions.binds if bind.gpu_groups)
            seen["promise"] += len(decisions.pipelined)
            seen.update(eviction.action for eviction in decisions.evictions)
            seen.update(state.phase for state in decisions.jobs)
            seen["waits"] += sum(1 for state in decisions.jobs if state.reason)
    policies = [name for named in POLICIES.values() for name in named]
    actions = ["reclaim", "preempt", "gangreclaim", "gangpreempt", *SOLVING]
    decided = ["bind", "share of a GPU", "promise", "waits", "Running", "Inqueue", "Pending"]
    assert not [name for name in (*policies, *actions, *decided) if seen[name] < 5], seen
