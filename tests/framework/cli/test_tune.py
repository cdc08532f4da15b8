"""``pumice tune``: a bounded search by simulation."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pumice.cli import main
from pumice.errors import PumiceError
from pumice.simulation.search import Range, Trial, front

SMALL = ["synthetic", "--trace-option", "jobs=8", "--trace-option", "gpus=16", "--processes", "1"]
OVER = ["--over", "plugin.binpack.weight=0..10"]


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["tune", *map(str, args)])


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(
        'actions = ["enqueue", "allocate"]\n'
        '[[tiers]]\nplugins = ["gang", "predicates", "binpack", "nodeorder"]\n'
    )
    return path


def test_ranges() -> None:
    assert Range.of("a.b=0..10") == Range("a.b", 0, 10, whole=True)
    assert Range.of("a.b=0.5..1") == Range("a.b", 0.5, 1)
    assert Range.of("a.b=x,y") == Range("a.b", choices=("x", "y"))
    for text in ("a.b", "=1..2", "a.b=2..1", "a.b=x..y", "a.b="):
        with pytest.raises(PumiceError, match="should be KEY=LOW"):
            Range.of(text)


def test_the_front_has_what_no_other_trial_beats() -> None:
    trials = [Trial({"k": str(i)}, pair) for i, pair in enumerate([(1, 5), (2, 6), (3, 9), (1, 5)])]
    assert [trial.values["k"] for trial in front(trials, [False, True])] == ["0", "1", "2"]
    assert [trial.values["k"] for trial in front(trials, [False, False])] == ["0"]
    assert front([Trial({}, (float("nan"),)), Trial({}, (1.0,))], [False])[0].figures == (1.0,)


def test_a_search_finds_values_and_draws_them(policy: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    page = tmp_path / "front.html"
    given = [*SMALL, *OVER, "--trials", "3"]
    arguments = [given[0], policy, *given[1:], "--for", "delay.p95", "--for", "goodput"]
    result = run(*arguments, "-o", "json", "--report", page)
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert len(answer["trials"]) == 3
    assert answer["best"]
    values = [trial["values"]["plugin.binpack.weight"] for trial in answer["trials"]]
    assert all(0 <= int(value) <= 10 for value in values)
    assert "Trials and the best of them" in page.read_text()
    assert json.loads(run(*arguments, "-o", "json").stdout) == answer


def test_without_optuna_the_fix_is_named(policy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    result = run("synthetic", policy, *SMALL[1:], *OVER)
    assert result.exit_code != 0
    assert "Optuna, which does the search, is not installed" in result.stderr
    assert "pip install 'pumice-framework[tune]'" in result.stderr


@pytest.mark.parametrize(
    "over, goal, message",
    [
        ("plugin.binpack.wait=0..1", "delay.p95", "wait"),
        ("plugin.binpack.weight=10..0", "delay.p95", "should be KEY=LOW..HIGH"),
        ("plugin.binpack.weight=0..10", "dela.p95", "no measure named 'dela' is installed"),
    ],
)
def test_wrong_input_is_refused(policy: Path, over: str, goal: str, message: str) -> None:
    result = run("synthetic", policy, *SMALL[1:], "--over", over, "--for", goal)
    assert result.exit_code != 0
    assert message in result.stderr
