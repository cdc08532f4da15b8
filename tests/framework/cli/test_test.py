"""``pumice test`` as a user calls it."""

import json
from pathlib import Path

import pytest

from tests.framework.cli._gang import files, pod, pumice

__all__ = ["files"]


@pytest.fixture
def cases(files):
    """Three scenarios, one of each outcome."""
    Path("cases").mkdir()
    config = {"actions": ["enqueue", "allocate"], "tiers": [{"plugins": ["gang"]}]}
    base = {"cluster": "../cluster.yaml", "config": config}
    scenarios = {
        "good": {"expect": {"bind_count": 2}},
        "bad": {"expect": {"binds": {"ns/x": "n9", "ns/y": "n1"}}, "title": "a wrong node"},
        "away": {
            "config": {**config, "actions": ["allocate", "teleport"]},
            "expect": {"bind_count": 0},
        },
    }
    for name, case in scenarios.items():
        Path(f"cases/{name}.json").write_text(json.dumps({"id": name, **base, **case}))
    return Path("cases")


class TestTest:
    def test_failures_and_missing_parts_are_reported_and_counted(self, cases):
        result = pumice("test", "cases")
        assert result.exit_code == 1
        assert result.stdout.splitlines() == [
            "FAIL bad: a wrong node",
            "     in cases/bad.json",
            "     binds ns/x: expected n9, got n1",
            "skipped because parts are not installed:",
            "     action teleport: 1 scenario",
            "1 passed, 1 failed, 1 skipped",
        ]

    def test_it_succeeds_when_nothing_failed(self, cases):
        result = pumice("test", "cases/good.json", "cases/away.json")
        assert result.exit_code == 0
        assert result.stdout.splitlines()[-1] == "1 passed, 0 failed, 1 skipped"

    def test_strict_makes_a_skip_a_failure(self, cases):
        result = pumice("test", "cases/away.json", "--strict")
        assert result.exit_code == 1
        assert "not installed: action teleport" in result.stdout
        assert result.stdout.splitlines()[-1] == "0 passed, 0 failed, 1 skipped"

    def test_verbose_reports_every_scenario(self, cases):
        lines = pumice("test", "cases", "-v").stdout.splitlines()
        assert [
            line for line in lines if line[:4] in ("pass", "FAIL", "skip") and ":" not in line
        ] == [
            "skip away",
            "pass good",
        ]

    def test_a_keyword_selects_scenarios(self, cases):
        assert pumice("test", "cases", "-k", "GOOD").stdout == "1 passed, 0 failed, 0 skipped\n"

    def test_the_report_has_everything(self, cases):
        pumice("test", "cases", "--json", "report.json")
        report = json.loads(Path("report.json").read_text())
        assert (report["passed"], report["failed"], report["skipped"]) == (1, 1, 1)
        away, bad, good = report["scenarios"]
        assert away["missing"] == [{"kind": "action", "name": "teleport"}]
        assert bad["mismatches"] == [{"what": "binds ns/x", "expected": "n9", "actual": "n1"}]
        assert (good["id"], good["verdict"]) == ("good", "passed")

    def test_more_processes_give_the_same_answer(self, cases):
        one, two = (pumice("test", "cases", "-j", jobs) for jobs in ("1", "2"))
        assert one.stdout == two.stdout
        assert two.exit_code == 1

    def test_a_broken_scenario_counts_as_failed(self, cases):
        Path("cases/broken.json").write_text('{"expect": {"bind_cuont": 1}, "objects": []}')
        result = pumice("test", "cases", "-k", "broken")
        assert result.exit_code == 1
        assert "did you mean 'bind_count'?" in result.stdout
        assert result.stdout.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"

    def test_objects_that_were_left_out_are_reported(self, cases, files):
        files(pod("x"), pod("y"), pod("z", cpu="many"))
        result = pumice("test", "cases/good.json")
        assert result.exit_code == 0
        assert result.stderr.startswith("warning: good: ")
        assert "Pod ns/z" in result.stderr

    @pytest.mark.parametrize(
        "args, error",
        [
            ((), "missing argument"),
            (("nowhere",), "nowhere: there is no such file or directory"),
            (("cluster.yaml",), "cluster.yaml: not a scenario file"),
            (("policy.toml",), "policy.toml: not a scenario file"),
            (("empty",), "empty: there is no scenario"),
            (("cases", "-k", "missing"), "there is no scenario with 'missing'"),
            (
                ("cases/good.json", "--json", "no/where.json"),
                "no/where.json: cannot be written: there is no folder no",
            ),
        ],
    )
    def test_bad_input_is_reported(self, cases, args, error):
        Path("empty").mkdir()
        result = pumice("test", *args)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")
        assert error in result.stderr
        assert "Traceback" not in result.output
