"""``pumice simulate``: policies side by side, the report, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pumice.cli import main
from pumice.simulation.runs import period_for, window_for

SMALL = ["synthetic", "--trace-option", "jobs=12", "--trace-option", "gpus=16", "--processes", "1"]


def run(*args: object) -> Result:
    return CliRunner().invoke(main, ["simulate", *map(str, args)])


@pytest.fixture
def policies(tmp_path: Path) -> list[object]:
    table = 'actions = ["enqueue", "allocate"]\n[[tiers]]\nplugins = ["gang", "predicates", "{}"]\n'
    arguments: list[object] = []
    for name in ("binpack", "nodeorder"):
        path = tmp_path / f"{name}.toml"
        path.write_text(table.format(name))
        arguments += ["-c", path]
    return arguments


def test_policies_are_compared_side_by_side(policies: list[object]) -> None:
    result = run(*SMALL, *policies)
    assert result.exit_code == 0, result.output
    assert re.match(r"figure +binpack +nodeorder\n", result.stdout)
    assert "delay.p95" in result.stdout


def test_json_has_figures_with_confidence_and_runs(policies: list[object]) -> None:
    result = run(*SMALL, *policies, "--seeds", "1-2", "-o", "json")
    answer = json.loads(result.stdout)
    assert answer["policies"] == ["binpack", "nodeorder"]
    assert answer["seeds"] == [1, 2]
    delay = answer["figures"]["delay.mean"]["binpack"]
    runs = [each for each in answer["runs"] if each["policy"] == "binpack"]
    assert delay["mean"] == pytest.approx(sum(r["figures"]["delay.mean"] for r in runs) / 2)
    assert delay["within"] >= 0
    assert answer["figures"]["evictions.for_each_requested"]["binpack"]["mean"] is None


def test_the_report_is_the_same_byte_for_byte(policies: list[object], tmp_path: Path) -> None:
    pages = []
    for name, processes in (("a.html", "1"), ("b.html", "2")):
        given = [*SMALL[:-1], processes, "--seeds", "1-2", "--mtbf", "2h"]
        assert run(*given, *policies, "--report", tmp_path / name).exit_code == 0
        pages.append((tmp_path / name).read_bytes())
    assert pages[0] == pages[1]


def test_the_report_has_plots_and_nothing_from_outside(
    policies: list[object], tmp_path: Path
) -> None:
    trace = tmp_path / "<b>.csv"
    trace.write_text("name,submit,duration,queue,gpus\na,0,60,<script>q,1\nb,1,60,r,1\n")
    report = tmp_path / "report.html"
    result = run(trace, "--nodes", "1x1", "--processes", "1", *policies, "--report", report)
    assert result.exit_code == 0, result.output
    page = report.read_text()
    for title in ("Utilisation over time", "Jobs that started", "Evicted pods", "Queue"):
        assert title in page
    assert "http" not in page
    assert "<script" not in page
    assert "&lt;script&gt;q" in page
    assert "&lt;b&gt;.csv" in page
    assert "prefers-color-scheme:dark" in page


def test_the_series_are_csv(policies: list[object], tmp_path: Path) -> None:
    path = tmp_path / "series.csv"
    assert run(*SMALL, *policies, "--series", path).exit_code == 0
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    assert {row["policy"] for row in rows} == {"binpack", "nodeorder"}
    assert {row["queue"] for row in rows} >= {"", "queue-4"}
    assert sum(float(row["used"]) for row in rows if row["queue"]) > 0


@pytest.mark.parametrize(
    "args, message",
    [
        (["no.csv"], "no.csv: cannot be read: No such file"),
        ([*SMALL, "--preset", "volcan"], "volcan"),
        ([*SMALL, "--nodes", "8"], "--nodes 8: it should be COUNTxGPUS"),
        ([*SMALL, "--nodes", "1x8:two"], "--nodes 1x8:two: cpu"),
        ([*SMALL, "--seeds", "3-1"], "has no seed"),
        ([*SMALL, "--period", "soon"], "should be a duration"),
        ([*SMALL, "--trace-option", "jobs"], "'jobs' should be NAME=VALUE"),
        (["t.csv", "--format", "slurm"], "no trace named 'slurm' is installed"),
        (["slurm", "--format", "slurm"], "no trace named 'slurm' is installed"),
    ],
)
def test_wrong_input_is_refused(args: list[str], message: str) -> None:
    result = run(*args)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_nodes_must_be_known(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("name,submit,duration\na,0,60\nb,x,60\n")
    result = run(trace)
    assert "does not say which nodes there are" in result.stderr
    assert "--nodes 60x8" in result.stderr
    result = run(trace, "--nodes", "1x1", "--bad-rows", "fatal")
    assert "t.csv:3: submit is 'x', not a number" in result.stderr
    result = run(trace, "--nodes", "1x1", "--processes", "1", "--set", "scheduler.period=1s")
    assert result.exit_code == 0, result.output
    assert "warning: " in result.stderr


def test_seeds_that_change_nothing_are_pointed_out(policies: list[object], tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    trace.write_text("name,submit,duration\na,0,60\n")
    given = ["--nodes", "1x1", "--processes", "1", "--seeds", "1-2"]
    assert "all seeds give the same" in run(trace, *given, *policies).stderr


@pytest.mark.parametrize("given, said", [([], "10 days"), (["--period", "1h"], "")])
def test_cycles_are_rarer_on_a_long_trace_unless_the_period_is_given(
    policies: list[object], tmp_path: Path, given: list[str], said: str
) -> None:
    trace, page = tmp_path / "t.csv", tmp_path / "page.html"
    trace.write_text(f"name,submit,duration\na,0,60\nb,{10 * 86400},60\n")
    result = run(trace, "--nodes", "1x1", "--processes", "1", "--report", page, *given, *policies)
    assert result.exit_code == 0, result.output
    assert ("a cycle at most every" in result.stderr) == bool(said)
    assert said in result.stderr
    assert f"a cycle at most every {3600 if given else 300} s" in page.read_text()


@pytest.mark.parametrize("given, said", [([], "first 500"), (["--window", "0"], "")])
def test_of_a_long_trace_the_scheduler_sees_a_part_unless_the_window_is_given(
    policies: list[object], tmp_path: Path, given: list[str], said: str
) -> None:
    trace, page = tmp_path / "t.csv", tmp_path / "page.html"
    rows = "".join(f"j{number},{number},60\n" for number in range(20_001))
    trace.write_text(f"name,submit,duration\n{rows}")
    options = ["--nodes", "1x1", "--processes", "1", "--until", "2m", "--report", page]
    result = run(trace, *options, *given, *policies)
    assert result.exit_code == 0, result.output
    assert said in result.stderr
    assert ("that wait in each queue" in result.stderr) == bool(said)
    assert ("sees 500 waiting jobs" in page.read_text()) == bool(said)


def test_the_window_is_for_traces_of_many_jobs() -> None:
    assert [window_for(jobs) for jobs in (0, 20_000, 20_001)] == [0, 0, 500]


def test_the_period_of_a_trace_grows_with_it() -> None:
    assert [period_for(days * 86400) for days in (0, 3, 10, 109, 4000)] == [60, 60, 300, 1800, 3600]
