"""``pumice run`` as a user calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pumice import hookimpl
from pumice.backends.memory import MemoryBackend
from pumice.discovery import Catalog
from pumice_builtin_plugins.gang import Gang
from tests.framework.cli._gang import Failing, as_json, files, placed, pod, pumice, run

__all__ = ["files"]
ROOT = Path(__file__).resolve().parents[3]


class TestRun:
    def test_a_gang_is_bound_and_the_json_has_the_stable_shape(self, files):
        assert as_json() == {
            "cycles": [
                {
                    "cycle": 1,
                    "now": "2026-01-01T12:00:01Z",
                    "binds": [placed("x", "pair"), placed("y", "pair")],
                    "pipelined": [],
                    "evictions": [],
                    "jobs": [
                        {
                            "job": "ns/pair", "queue": "q", "phase": "Inqueue",
                            "ready": 2, "pending": 0, "code": "", "reason": "",
                            "conditions": [
                                {
                                    "type": "Scheduled", "status": "True",
                                    "transitionID": "cycle-1",
                                    "lastTransitionTime": "2026-01-01T12:00:01Z",
                                    "reason": "tasks in gang are ready to be scheduled",
                                    "message": "",
                                }
                            ],
                        }
                    ],
                    "faults": [],
                    "set_aside": [],
                }
            ],
            "warnings": [],
            "left_out": [],
        }  # fmt: skip

    def test_faults_of_plugins_are_shown_whatever_the_options(self, files, monkeypatch):
        monkeypatch.setattr(Gang, "job_valid", hookimpl(Failing.job_valid))
        (cycle,) = as_json()["cycles"]
        (fault,) = cycle["faults"]
        assert {key: fault[key] for key in ("plugin", "hook", "job", "cycles")} == {
            "plugin": "gang", "hook": "job_valid", "job": "ns/pair", "cycles": 1,
        }  # fmt: skip
        assert fault["source"].startswith("pumice-builtin-plugins ")
        assert fault["place"].startswith("tests/framework/cli/_gang.py:")
        result = pumice("-q", "run", "cluster.yaml", "-c", "policy.toml", "--cycles", "3")
        assert result.stdout.splitlines()[-1].endswith(
            "1 job waits; 3 faults of plugins or actions"
        )
        lines = [line for line in result.stderr.splitlines() if "ZeroDivisionError: oops" in line]
        assert len(lines) == 2
        assert lines[0].startswith("ERROR plugin gang (pumice-builtin-plugins")
        assert lines[1].startswith("fault: ")
        assert lines[1].endswith("3 times in 3 cycles")

    def test_warnings_are_part_of_the_json_and_quiet_hides_them(self, files):
        files(pod("x"), pod("y"), pod("z", group="missing"))
        (warning,) = as_json()["warnings"]
        assert warning.startswith("PodGroup ns/missing: not in the files")
        assert f"warning: {warning}" in run().stderr
        assert "warning" not in pumice("-q", "run", "cluster.yaml", "-c", "policy.toml").stderr

    def test_a_gang_that_does_not_fit_waits_whole_and_says_why(self, files):
        files(pod("x"), pod("y", cpu="2"))
        (cycle,) = as_json()["cycles"]
        assert cycle["binds"] == []
        (job,) = cycle["jobs"]
        assert job["code"] == "TooLarge"
        assert job["reason"] == "the gang asks for 3 cpu, all nodes together have 2"
        waiting = job["conditions"][-1]
        assert (waiting["type"], waiting["reason"]) == ("Waiting", "TooLarge")
        assert waiting["message"] == job["reason"]
        assert waiting["lastTransitionTime"].endswith("Z")
        table = run()
        assert table.exit_code == 0
        assert "WAITING" in table.stdout
        assert "TooLarge: the gang asks for 3 cpu" in " ".join(table.stdout.split())
        assert table.stdout.splitlines()[-1] == "1 cycle: 0 bound, 0 evicted; 1 job waits"

    def test_bound_pods_run_in_the_next_cycle(self, files):
        first, second = as_json("--cycles", "2")["cycles"]
        assert len(first["binds"]) == 2
        assert second["binds"] == []
        assert second["jobs"][0]["phase"] == "Running"

    def test_the_table_lists_what_was_bound(self, files):
        lines = run().stdout.splitlines()
        assert "Cycle 1 at 2026-01-01T12:00:01Z: 2 bound" in lines
        assert [line.split() for line in lines if line.startswith("ns/")] == [
            ["ns/x", "n1"],
            ["ns/y", "n1"],
        ]
        assert lines[-1] == "1 cycle: 2 bound, 0 evicted; 0 jobs wait"

    def test_equal_input_gives_equal_bytes_in_any_process(self, files):
        command = [sys.executable, "-c", "from pumice.cli import main; main()", "run"]
        command += ["cluster.yaml", "-c", "policy.toml", "--cycles", "2", "-o", "json"]
        outputs = {
            subprocess.run(
                command, capture_output=True, check=True, env={"PYTHONHASHSEED": seed}
            ).stdout
            for seed in ("1", "2")
        }
        assert len(outputs) == 1
        assert outputs.pop().endswith(b"}\n")

    def test_a_malformed_object_is_reported_and_the_rest_scheduled(self, files):
        files(pod("x"), pod("y"), pod("z", cpu="many"))
        result = run("-o", "json")
        assert result.exit_code == 0
        assert len(json.loads(result.stdout)["cycles"][0]["binds"]) == 2
        (warning,) = result.stderr.splitlines()
        assert warning.startswith("warning: cluster.yaml")
        assert "Pod ns/z" in warning

    def test_pods_of_a_group_that_is_not_there_are_reported(self, files):
        files(pod("x", group="gone"))
        result = run()
        assert "warning: PodGroup ns/gone: not in the files" in result.stderr

    def test_a_plain_pod_is_a_job_of_its_own_unless_it_asks_for_another_scheduler(self, files):
        other = "schedulerName: other"
        files(pod("solo", group=""), pod("theirs", group="", more=other))
        (cycle,) = as_json()["cycles"]
        assert cycle["binds"] == [placed("solo", "podgroup-solo")]
        assert [job["job"] for job in cycle["jobs"]] == ["ns/pair", "ns/podgroup-solo"]
        assert cycle["jobs"][1]["queue"] == "default"

    def test_a_setting_can_be_overridden(self, files):
        result = run("--set", 'actions=["enqueue"]', "-o", "json")
        assert json.loads(result.stdout)["cycles"][0]["binds"] == []

    def test_a_trace_is_json_lines_about_the_point_only(self, files):
        result = run("--trace", "job_ready", "-o", "json")
        events = [json.loads(line) for line in result.stderr.splitlines()]
        assert {event["event"] for event in events} == {"action", "vote", "question"}
        points = {event["point"] for event in events if event["event"] != "action"}
        assert points == {"job_ready"}
        json.loads(result.stdout)

    def test_a_trace_of_all_reports_statements_too(self, files):
        result = run("--trace", "all")
        events = {json.loads(line)["event"] for line in result.stderr.splitlines()}
        assert {"question", "vote", "allocate", "bind", "commit"} <= events

    def test_check_runs_the_invariants(self, files, monkeypatch):
        assert run("--check").exit_code == 0
        checked = []
        monkeypatch.setattr("pumice.scheduler.check", checked.append)
        run("--check")
        assert len(checked) == 2
        run()
        assert len(checked) == 2

    def test_a_backend_may_come_from_elsewhere(self, files, monkeypatch):
        class Fixed:
            def __init__(self):
                inner = MemoryBackend.from_files(["cluster.yaml"])
                self.snapshot, self.apply, self.now = inner.snapshot, inner.apply, inner.now

        monkeypatch.setattr("pumice.cli.run.Catalog", lambda: _with_backend("fixed", Fixed))
        result = pumice("run", "--backend", "fixed", "-c", "policy.toml", "-o", "json")
        assert len(json.loads(result.stdout)["cycles"][0]["binds"]) == 2
        result = run("--backend", "fixed")
        assert result.exit_code == 2
        assert "does not read files" in result.stderr

    @pytest.mark.parametrize(
        "args, error, hint",
        [
            ((), "nothing to schedule: give FILES", "kubectl get"),
            (("nowhere.yaml",), "nowhere.yaml: No such file", ""),
            (("broken.json",), "broken.json:1: ", ""),
            (("cluster.yaml", "--preset", "volcana"), "did you mean 'volcano'", "presets: "),
            (("cluster.yaml", "--trace", "job_redy"), "did you mean 'job_ready'?", "pumice hooks"),
            (("cluster.yaml", "--backend", "memori"), "no backend named 'memori'", "did you mean"),
            (("cluster.yaml", "-c", "gone.toml"), "gone.toml: 1 problem", ""),
            (("cluster.yaml", "--set", "plugin"), "--set plugin: write KEY=VALUE", ""),
            (("cluster.yaml", "--cycles", "0"), "--cycles", "--help"),
        ],
    )
    def test_bad_input_is_reported_in_a_line_with_a_hint(self, files, args, error, hint):
        Path("broken.json").write_text("{")
        if not {"-c", "--preset"} & set(args):
            args = (*args, "-c", "policy.toml")
        result = pumice("run", *args)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("error: ")
        assert error in result.stderr
        assert hint in result.stderr
        assert "Traceback" not in result.stderr


def _with_backend(name: str, cls: type) -> Catalog:
    catalog = Catalog()
    catalog.register_local("backend", name, cls)
    return catalog


def test_the_demo_reclaims_preempts_and_places_whole_gangs(monkeypatch):
    monkeypatch.chdir(ROOT)
    demo = ("run", "docs/examples/demo", "-c", "docs/examples/demo/policy.toml", "--check")
    result = pumice(*demo, "--cycles", "3")
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    first, second = json.loads(pumice(*demo, "--cycles", "2", "-o", "json").stdout)["cycles"]
    reasons = {(gone["action"], gone["for"]) for gone in first["evictions"]}
    assert reasons == {("reclaim", "production/train"), ("preempt", "production/serve")}
    bound = {bind["task"] for bind in second["binds"]}
    assert {f"production/train-{worker}" for worker in range(3)} <= bound
    assert [job["job"] for job in second["jobs"] if job["reason"]] == ["research/ablation"]


def test_what_is_missing_or_odd_is_said(files, monkeypatch):
    files(pod("lost", group="", more="nodeName: n9"), "\nstatus: {phase: Running}\n")
    Path("empty.yaml").write_text("# nothing\n---\n")
    Path("none.json").write_text('{"apiVersion": "v1", "kind": "List", "items": []}')
    monkeypatch.setenv("PUMICE_FOO", "1")
    result = run("empty.yaml", "none.json")
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert "warning: Node n9: not in the files, so pods that are on it count nowhere: 1" in lines
    assert "warning: empty.yaml: file: holds no objects" in lines
    assert "warning: none.json: file: holds no objects" in lines
    assert any(line.startswith("warning: environment PUMICE_FOO: not a setting") for line in lines)


def test_a_policy_is_no_manifest(files):
    result = run("policy.toml")
    assert result.exit_code == 2
    assert "policy.toml: a TOML file is not a manifest" in result.output
