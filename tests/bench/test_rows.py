"""The rows of the bench: their keys, their counts, and what carries them to another machine."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console

from tests.bench import run
from tests.bench._case import RELATIVE_RUNS, SHORT_RUNS, Measured, best_of
from tests.bench._cases import CASES, volcano_allocate, volcano_evicting
from tests.bench._clock import Units
from tests.bench._page import BEGIN, END, write_page
from tests.bench._peers import CPU as PEERS
from tests.bench._peers import UNIT as PEER_UNIT
from tests.bench._rows import KEYS, make_row
from tests.bench._table import print_table
from tests.bench._targets import TARGETS, Target

ALLOCATE = volcano_allocate(1000, 1000, 10)
RECLAIM = volcano_evicting("reclaim", 1000, 500)
DONE = Measured(2.0, 0.5, placed=10_000)


def test_every_row_has_the_keys_in_order():
    assert tuple(make_row(ALLOCATE, DONE, 0.1, 90))[: len(KEYS)] == KEYS


def test_a_row_about_running_jobs_says_pending():
    row = make_row(RECLAIM, Measured(1.0, placed=500, evicted=500), 0.1, 90)
    wanted = ["pending" if key == "jobs" else key for key in KEYS]
    assert list(row)[: len(KEYS)] == wanted
    assert row["pending"] == 500


def test_the_peer_is_carried_by_the_unit():
    there = make_row(ALLOCATE, DONE, PEER_UNIT, 90)
    slower = make_row(ALLOCATE, DONE, 2 * PEER_UNIT, 90)
    assert there["peer"] == PEERS[ALLOCATE.size]
    assert there["ratio"] == pytest.approx(there["peer"] / 2.0, abs=0.01)
    assert slower["peer"] == pytest.approx(2 * there["peer"])
    assert slower["ratio"] == pytest.approx(2 * there["ratio"], abs=0.02)


def test_without_a_peer_there_is_no_ratio():
    row = make_row(volcano_allocate(3, 2, 2), Measured(1.0, placed=4), 0.1, 90)
    assert (row["peer"], row["ratio"], row["target"], row["met"]) == (None,) * 4


def test_other_counts_are_wrong():
    assert make_row(ALLOCATE, DONE, 0.1, 90)["wrong"] == []
    row = make_row(ALLOCATE, replace(DONE, placed=9999, evicted=1), 0.1, 90)
    assert row["wrong"] == ["placed 9,999, not 10,000", "evicted 1, not 0"]


def test_every_peer_and_every_target_has_its_case():
    sizes = [case.size for case in CASES]
    assert len(sizes) == len(set(sizes))
    assert len({case.name for case in CASES}) == len(CASES)
    assert not PEERS.keys() - set(sizes)
    assert not TARGETS.keys() - set(sizes)


def test_a_target_in_times_less_needs_a_peer():
    assert all(size in PEERS for size, target in TARGETS.items() if target.ratio is not None)


@pytest.mark.parametrize(
    "target, row, met",
    [
        (Target(ratio=50), {"ratio": 50.0}, True),
        (Target(ratio=50), {"ratio": 49.9}, False),
        (Target(seconds=2), {"cpu": 3.9, "unit": 2 * PEER_UNIT}, True),
        (Target(seconds=2), {"cpu": 2.1, "unit": PEER_UNIT}, False),
        (Target(times=1.3), {"times": 1.3}, True),
        (Target(times=1.3), {"times": 1.31}, False),
        (Target(seconds=6, mib=1024), {"cpu": 1, "unit": PEER_UNIT, "mib": 1025}, False),
    ],
)
def test_a_target_is_met_within_its_bounds(target, row, met):
    assert target.met(row) is met


def test_a_target_prints_its_bounds():
    assert str(Target(seconds=6, mib=1024)) == "6 s, 1024 MiB"
    assert str(Target(ratio=50)) == "50 x less"


def test_the_unit_is_measured_again_when_it_is_old():
    now, measured = [0.0], iter([0.1, 0.3])
    units = Units(lambda: next(measured), lambda: now[0], stale=10)
    assert units.near() == 0.1
    now[0] = 9.0
    assert units.near() == 0.1
    now[0] = 21.0
    assert units.near() == 0.3
    assert units.all == [0.1, 0.3]


class FixedRuns:
    """Returns the given runs in order and counts the calls."""

    def __init__(self, *runs):
        self.runs, self.asked = runs, 0

    def __call__(self, case, number, profile):
        assert number == self.asked
        self.asked += 1
        return self.runs[min(number, len(self.runs) - 1)]

    def best(self, **given):
        return best_of(replace(ALLOCATE, measure=self), **given)


def test_a_short_run_is_repeated_and_the_best_counts():
    runs = FixedRuns(Measured(0.5, 0.1), Measured(0.3, 0.2), Measured(0.4, 0.05))
    assert runs.best() == Measured(0.3, 0.05)
    assert runs.asked == SHORT_RUNS


def test_a_long_run_is_repeated_when_asked():
    runs = FixedRuns(Measured(5.0), Measured(4.0))
    assert runs.best().cpu == 5.0
    assert runs.asked == 1
    assert FixedRuns(Measured(5.0), Measured(4.0)).best(repeat=2).cpu == 4.0


def test_the_median_ratio_counts():
    runs = FixedRuns(Measured(9.0, base=1.0), Measured(2.0, base=1.6), Measured(3.0, base=2.0))
    best = runs.best()
    assert runs.asked == RELATIVE_RUNS
    assert (best.cpu, best.times) == (2.0, 1.5)


def test_problems_of_all_runs_are_reported():
    runs = FixedRuns(Measured(0.5, wrong=("a",)), Measured(0.3), Measured(0.4, wrong=("a", "b")))
    assert runs.best().wrong == ("a", "b")


@pytest.fixture
def bench(monkeypatch, tmp_path):
    """Runs the bench on one case with the given result."""

    def main(measured, *arguments):
        monkeypatch.setattr(run, "CASES", [ALLOCATE])
        monkeypatch.setattr(run, "mixed_cases", lambda console: [])
        monkeypatch.setattr(run, "Units", lambda: Units(lambda: PEER_UNIT))
        monkeypatch.setattr(run, "measure_apart", lambda *_: (measured, 90.0))
        path = tmp_path / "bench.json"
        code = run.main(["-o", str(path), *arguments])
        return code, json.loads(path.read_text())

    return main


def test_the_bench_writes_its_rows(bench, capsys):
    code, rows = bench(DONE)
    assert code == 0
    assert rows == [make_row(ALLOCATE, DONE, PEER_UNIT, 90)]
    assert "Targets met: 0 of 1." in capsys.readouterr().out


def test_a_wrong_row_is_written_shown_and_fails(bench, capsys):
    code, rows = bench(replace(DONE, placed=7))
    assert code == 1
    assert rows[0]["placed"] == 7
    output = capsys.readouterr().out
    assert "WRONG" in output
    assert "placed 7, not 10,000" in output


def test_a_keyword_that_matches_no_case_is_an_error(bench, capsys):
    with pytest.raises(SystemExit):
        bench(DONE, "-k", "nothing like it")
    assert "nothing like it" in capsys.readouterr().err


def test_the_table_says_whether_targets_are_met():
    rows = [
        make_row(ALLOCATE, replace(DONE, cpu=0.1), PEER_UNIT, 90),
        make_row(RECLAIM, Measured(1.0, placed=500, evicted=500), PEER_UNIT, 90),
    ]
    console = Console(width=132, record=True, file=io.StringIO())
    print_table(rows, [0.1, 0.2], console)
    lines = console.export_text().splitlines()
    assert next(line for line in lines if " allocate" in line).split()[-1] == "yes"
    assert next(line for line in lines if " reclaim" in line).split()[-1] == "no"
    assert any("0.100 to 0.200" in line for line in lines)


def test_the_figures_of_the_page_are_replaced(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"above\n{BEGIN}\nold\n{END}\nbelow\n")
    write_page(page, [make_row(ALLOCATE, DONE, 2 * PEER_UNIT, 90)])
    text = page.read_text()
    assert text.startswith(f"above\n{BEGIN}\n| family")
    assert text.endswith(f"{END}\nbelow\n")
    assert "| volcano | allocate | 1,000 | 1,000 × 10 | 1.00 | 64 |  | 90 |" in text
    assert "old" not in text


def test_a_page_without_a_place_for_figures_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="no place"):
        write_page(page, [])
