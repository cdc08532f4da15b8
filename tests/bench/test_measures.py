"""Every measurement, on a cluster of a few nodes: the counts must be right."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from pumice.manifests import load as load_files
from pumice.model.facts import Inventory
from tests.bench import plot
from tests.bench._case import Case
from tests.bench._cases import (
    click,
    consolidation,
    explain,
    failing,
    kai_allocate,
    kai_evicting,
    load,
    own_plugin,
    volcano_allocate,
    volcano_evicting,
)
from tests.bench._clusters import pending_gangs
from tests.bench._dump import write_dump
from tests.bench._measure import (
    CHANGE,
    changed,
    deciding,
    explaining,
    handing,
    opening,
    recording,
    recording_jobs,
    reopening,
)
from tests.bench._own_plugin import Repair, RepairByRow
from tests.bench._rows import problems
from tests.bench._svg import Panel, draw, ticks

NOTHING = {"placed": 0}
SMALL = [
    volcano_allocate(4, 3, 2),
    volcano_evicting("reclaim", 4, 2),
    volcano_evicting("preempt", 4, 2),
    kai_allocate(4, 3, 2),
    kai_allocate(4, 3, 2, 1),
    kai_evicting("reclaim", 4, 2, 1),
    kai_evicting("reclaim", 4, 1, 8),
    kai_evicting("preempt", 4, 2, 1),
    consolidation(8),
    failing(3),
    volcano_allocate(4, 3, 2, kind="open", measure=opening, **NOTHING),
    kai_allocate(4, 3, 2, kind="second cycle", measure=reopening, **NOTHING),
    load(5, 4, 3),
    own_plugin("own predicate", Repair, 3, 2),
    own_plugin("own predicate by row", RepairByRow, 3, 2),
    volcano_allocate(4, 3, 2, kind="ledger", measure=recording),
    kai_allocate(4, 3, 2, kind="ledger to a sink", measure=handing),
    volcano_allocate(4, 3, 2, kind="job ledger", measure=recording_jobs),
    *explain(5, 5, 3),
    click(4, 2),
]


@pytest.mark.parametrize("case", SMALL, ids=lambda case: case.name)
def test_a_case_has_its_expected_counts(case: Case):
    measured = case.measure(case, 1, None)
    assert problems(case, measured) == []
    assert measured.cpu > 0
    assert measured.open > 0


@pytest.mark.parametrize(
    "case", [case for case in SMALL if case.measure in (recording, handing, reopening)]
)
def test_relative_cases_measure_their_base(case: Case):
    assert case.measure(case, 0, None).base > 0


def test_a_job_that_waits_without_a_reason_is_wrong():
    """Of a cluster on which every job fits, none has a reason to wait."""
    case = volcano_allocate(4, 1, 2, measure=explaining)
    assert problems(case, case.measure(case, 0, None)) == [
        "bench/job-00000 does not say why it waits"
    ]


def test_a_session_that_lacks_objects_is_wrong():
    case = volcano_allocate(4, 3, 2, measure=opening, **NOTHING)
    larger = replace(case, cluster=lambda _: pending_gangs(replace(case, nodes=5)))
    assert problems(larger, larger.measure(larger, 0, None)) == ["5 nodes, not 4"]


def test_one_object_in_a_hundred_changes_and_the_old_ones_stay():
    before = pending_gangs(volcano_allocate(200, 30, 10))
    after, node = changed(before, 1)
    assert after.nodes[node].labels[CHANGE] == "1"
    for old, new, count in (
        (before.nodes, after.nodes, 2),
        (before.pods, after.pods, 3),
    ):
        assert list(old) == list(new)
        assert sum(1 for key in old if old[key] is not new[key]) == count
    assert not any(CHANGE in fact.labels for fact in before.nodes.values())
    assert replaced(before, changed(before, 2)[0]) != replaced(before, after)


def replaced(before: Inventory, after: Inventory) -> set[str]:
    return {name for name, node in before.nodes.items() if after.nodes[name] is not node}


def test_a_dump_holds_running_and_waiting_jobs_on_nodes_that_have_the_room(tmp_path):
    path = tmp_path / "dump.json"
    write_dump(path, nodes=5, jobs=4, tasks=3)
    inventory = load_files([path])
    assert inventory.problems == []
    assert (len(inventory.nodes), len(inventory.groups), len(inventory.pods)) == (5, 4, 12)
    running = [pod for pod in inventory.pods.values() if pod.phase == "Running"]
    assert len(running) == 6
    assert {pod.node_name for pod in running} <= set(inventory.nodes)
    assert {group.min_member for group in inventory.groups.values()} == {3}


def test_profiling_covers_what_is_timed():
    import cProfile
    import pstats

    profile = cProfile.Profile()
    case = volcano_allocate(4, 3, 2)
    deciding(case, 0, profile)
    functions = {name for _, _, name in pstats.Stats(profile).stats}
    assert "run_action" in functions
    assert "open_session" not in functions


# -- the picture


@pytest.mark.parametrize(
    "most, wanted",
    [
        (10_000, [0, 2500, 5000, 7500, 10_000]),
        (0.3, [0, 0.1, 0.2, 0.3]),
        (7, [0, 2, 4, 6, 8]),
        (1, [0, 0.25, 0.5, 0.75, 1]),
    ],
)
def test_ticks_are_round_and_reach_the_top(most, wanted):
    assert ticks(most) == wanted


def test_the_picture_is_sound_and_has_every_point():
    panels = [
        Panel("a < b", "nodes", {"one": [(1, 0.5), (2, 1.0)], "two": [(1, 0.1)]}),
        Panel("c", "tasks", {"two": [(5, 3.0)]}),
    ]
    picture = ElementTree.fromstring(draw("all", "seconds", panels))
    spaced = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in picture.iter(f"{spaced}text")]
    assert {"a < b", "nodes", "tasks", "one", "two", "seconds"} <= set(texts)
    points = [title.text for title in picture.iter(f"{spaced}title")]
    assert points == ["one: 1, 0.5 s", "one: 2, 1 s", "two: 1, 0.1 s", "two: 5, 3 s"]
    assert len(list(picture.iter(f"{spaced}polyline"))) == 3


def test_a_sweep_asks_for_as_much_as_it_says():
    for _, quantity, lines in plot.sweeps():
        for cases in lines.values():
            for count, (case,) in cases:
                counts = {"nodes": case.nodes, "tasks": case.placed, "victims": case.evicted}
                assert counts[quantity] == count


@pytest.mark.parametrize(
    "name, sweeps",
    [
        ("performance.svg", plot.sweeps),
        # Draws large clusters to count what is in them.
        pytest.param("performance-mixed.svg", plot.mixed_sweeps, marks=pytest.mark.long),
    ],
)
def test_the_picture_of_the_docs_shows_the_sweeps(name, sweeps):
    text = (plot.PICTURES / name).read_text()
    wanted = plot.panels(lambda case: 1.0, sweeps())
    assert all(panel.title in text for panel in wanted)
    assert text.count("<circle") >= sum(len(p) for panel in wanted for p in panel.lines.values())
