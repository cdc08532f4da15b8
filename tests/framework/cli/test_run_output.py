"""What ``pumice run`` prints: words, colours, summary, clock, ``-q`` and ``--strict``."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from pumice import hookimpl
from pumice_builtin_plugins.gang import Gang
from tests.framework.cli._gang import Failing, as_json, files, pod, pumice, run

__all__ = ["files"]
ROOT = Path(__file__).resolve().parents[3]
DEMO = ("run", "docs/examples/demo", "-c", "docs/examples/demo/policy.toml")


def crowd(count: int) -> list[str]:
    """Pods of no pod group, each a job of its own, of which two fit."""
    return [pod(f"p{number:02}", group="") for number in range(count)]


class TestSummary:
    def test_few_decisions_are_listed(self, files):
        files(*crowd(50))
        assert "ns/podgroup-p49" in run().stdout

    def test_many_are_summarised_by_queue_reason_and_job(self, files):
        files(*crowd(60))
        lines = run().stdout.splitlines()
        assert "2 bound, 58 jobs wait" in lines[1]
        head = lines.index("QUEUE    BOUND  EVICTED  PROMISED  PENDING")
        assert lines[head + 1].split() == ["default", "2", "58"]
        reasons = lines[lines.index(next(line for line in lines if line[:7] == "WAITING")) + 1]
        assert reasons.split()[1:4] == ["default", "58", "ns/podgroup-p02:"]
        assert "… and 40 more jobs" in lines
        assert len(lines) < 40
        assert lines[-1].startswith("--full lists every task")

    def test_full_lists_every_task(self, files):
        files(*crowd(60))
        out = run("--full").stdout
        assert "--full" not in out
        assert out.count("ns/podgroup-p") == 58


class TestWords:
    def test_a_promised_job_waits_for_evictions_and_is_not_listed_as_waiting(self, monkeypatch):
        monkeypatch.chdir(ROOT)
        lines = pumice(*DEMO).stdout.splitlines()
        assert "1 bound, 5 evicted, 5 promised, 1 job waits" in lines[1]
        assert any(
            line.startswith("production/serve-0  plain  waits for 2 evictions to finish on node")
            for line in lines
        )
        waiting = lines.index(next(line for line in lines if line.startswith("WAITING")))
        assert not any("production/" in line for line in lines[waiting:])
        assert lines[-1] == "1 cycle: 1 bound, 5 evicted, 5 promised; 1 job waits"

    @pytest.mark.parametrize(
        "changes, coloured",
        [
            ({"TERM": "xterm-256color"}, True),
            ({"TERM": "xterm-256color", "NO_COLOR": "1"}, False),
            ({"TERM": "dumb"}, False),
        ],
        ids=["terminal", "NO_COLOR", "dumb"],
    )
    def test_states_differ_by_colour_on_a_terminal_that_wants_it(self, changes, coloured):
        env = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}
        main, other = pty.openpty()
        command = [sys.executable, "-c", "from pumice.cli import main; main()", *DEMO]
        with subprocess.Popen(command, cwd=ROOT, stdout=other, env=env | changes):
            os.close(other)
            text = ""
            while chunk := _read(main):
                text += chunk
        os.close(main)
        assert ("\x1b[32mresearch/notebook" in text) is coloured
        assert ("\x1b[31mresearch/sweep-1" in text) is coloured
        assert ("\x1b[36mproduction/train-0" in text) is coloured
        assert ("\x1b[33mresearch/ablation" in text) is coloured
        assert ("\x1b" in text) is coloured


def _read(main: int) -> str:
    try:
        return os.read(main, 65536).decode()
    except OSError:  # the other side was closed
        return ""


class TestQuietAndStrict:
    def test_quiet_prints_totals_only(self, files):
        files(pod("x"), pod("y"), pod("z", cpu="many"))
        for words in (["-q", "run"], ["run", "-q"]):
            result = pumice(*words, "cluster.yaml", "-c", "policy.toml")
            assert result.stdout.split("\n") == ["", "1 cycle: 2 bound, 0 evicted; 0 jobs wait", ""]
            assert result.stderr == ""

    def test_quiet_does_not_hide_a_failed_plugin(self, files, monkeypatch):
        monkeypatch.setattr(Gang, "job_valid", hookimpl(Failing.job_valid))
        assert "ZeroDivisionError: oops" in run("-q").stderr

    def test_strict_is_content_with_a_clean_run(self, files):
        assert run("--strict").exit_code == 0

    @pytest.mark.parametrize("output", ["table", "json", "jsonl"])
    def test_strict_fails_on_objects_that_were_left_out(self, files, output):
        files(pod("x"), pod("y"), pod("z", cpu="many"))
        assert run("-o", output).exit_code == 0
        result = run("-o", output, "--strict", "-q")
        assert result.exit_code == 1
        assert result.stderr == "error: --strict: 1 problem with objects\n"
        assert result.stdout

    def test_strict_fails_on_faults_of_plugins(self, files, monkeypatch):
        monkeypatch.setattr(Gang, "job_valid", hookimpl(Failing.job_valid))
        result = run("--strict")
        assert result.exit_code == 1
        assert result.stderr.splitlines()[-1] == "error: --strict: 1 fault of plugins or actions"

    def test_what_was_left_out_is_part_of_the_json(self, files):
        files(pod("x"), pod("y"), pod("z", cpu="many"))
        data = as_json()
        (left_out,) = data["left_out"]
        assert "Pod ns/z" in left_out
        assert left_out in data["warnings"]


class TestNow:
    def test_the_clock_can_be_set_and_is_printed(self, files):
        given = ("--now", "2031-05-06T09:08:09+02:00", "--cycles", "2")
        assert "Cycle 1 at 2031-05-06T07:08:09Z: 2 bound" in run(*given).stdout.splitlines()
        first, second = as_json(*given)["cycles"]
        assert (first["cycle"], first["now"]) == (1, "2031-05-06T07:08:09Z")
        assert second["now"] > first["now"]
        when = first["jobs"][0]["conditions"][0]["lastTransitionTime"]
        assert when == "2031-05-06T07:08:09Z"

    def test_a_time_without_a_zone_is_utc(self, files):
        assert as_json("--now", "2031-05-06")["cycles"][0]["now"] == "2031-05-06T00:00:00Z"

    def test_no_time_is_refused(self, files):
        result = run("--now", "noon")
        assert result.exit_code == 2
        assert "'noon' is not a time such as 2026-01-31T08:00:00Z" in result.stderr


def test_gpu_groups_are_part_of_the_json(monkeypatch):
    """A share of a GPU is bound with the group that it joins."""
    monkeypatch.chdir(ROOT)
    result = pumice("run", "tests/framework/cli/shared_gpu.yaml", "--preset", "kai", "-o", "json")
    assert result.exit_code == 0, result.output
    (bind,) = json.loads(result.stdout)["cycles"][0]["binds"]
    assert len(bind["gpu_groups"]) == 1
