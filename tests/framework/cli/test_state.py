"""``pumice run --state`` and ``-o jsonl``, killed runs included."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.backends.state import load_state
from pumice.cli import main
from tests.evictions.generator import draw
from tests.sampling import few_and_all

KILLS = 8


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("cluster.json").write_text(json.dumps({"kind": "List", "items": draw(14, "volcano")}))


def pumice(*args: str):
    return CliRunner().invoke(main, ["-q", "run", *args], prog_name="pumice")


def lines(result) -> list[dict]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def decided(lines: list[dict]) -> list[dict]:
    """What was decided; warnings depend on where the cluster came from."""
    about_files = {"warnings", "left_out"}
    return [{k: v for k, v in line.items() if k not in about_files} for line in lines]


@pytest.mark.usefixtures("cluster")
class TestState:
    def test_runs_go_on_where_the_last_one_ended(self):
        straight = decided(lines(pumice("cluster.json", "-o", "jsonl", "--cycles", "6")))
        pieces = []
        for cycles in ("1", "3", "2"):
            run = pumice("cluster.json", "-o", "jsonl", "--cycles", cycles, "--state", "s.json")
            pieces += decided(lines(run))
        assert pieces == straight
        assert [piece["cycle"] for piece in pieces] == [1, 2, 3, 4, 5, 6]
        assert any(piece["binds"] for piece in pieces[1:]), "later cycles decide something"
        assert os.listdir() in (["s.json", "cluster.json"], ["cluster.json", "s.json"])

    def test_the_files_are_read_only_while_there_is_no_state(self):
        assert pumice("cluster.json", "--state", "s.json").exit_code == 0
        Path("cluster.json").write_text("{")
        again = pumice("cluster.json", "--state", "s.json", "-o", "json")
        assert again.exit_code == 0
        (warning,) = [w for w in json.loads(again.stdout)["warnings"] if "s.json" in w]
        assert "FILES are not read" in warning
        assert "remove it to start again" in warning
        assert pumice("--state", "s.json").exit_code == 0

    def test_without_files_and_without_a_state_there_is_nothing_to_schedule(self):
        result = pumice("--state", "s.json")
        assert result.exit_code == 2
        assert "give FILES: s.json does not exist yet" in result.output
        assert not Path("s.json").exists()

    @pytest.mark.parametrize("text", ["", "{}", '{"kind": "List", "items": []}', '{"pumice_state'])
    def test_another_file_is_refused_and_stays(self, text):
        Path("s.json").write_text(text)
        result = pumice("cluster.json", "--state", "s.json")
        assert result.exit_code == 2
        assert "s.json: not a state file" in result.output
        assert "move this one away" in result.output
        assert Path("s.json").read_text() == text

    def test_a_symbolic_link_is_refused_before_anything_is_decided(self):
        Path("s.json").symlink_to("elsewhere.json")
        result = pumice("cluster.json", "--state", "s.json")
        assert result.exit_code == 2
        assert "s.json: cannot be written: it is a symbolic link to elsewhere.json" in result.output
        assert "Cycle 1" not in result.output
        assert not Path("elsewhere.json").exists()

    def test_only_the_embedded_cluster_has_a_state(self, monkeypatch):
        class Other:
            """Reads nothing."""

        from pumice.discovery import Catalog

        load = Catalog.load

        def other(self, kind, name):
            found = load(self, kind, "memory" if kind == "backend" else name)
            return type("Found", (), {"cls": Other}) if kind == "backend" else found

        monkeypatch.setattr(Catalog, "load", other)
        result = pumice("--backend", "other", "--state", "s.json")
        assert result.exit_code == 2
        assert "the backend 'other' has no state to store" in result.output

    def test_the_policy_may_change_between_runs(self):
        assert pumice("cluster.json", "--state", "s.json", "--preset", "volcano").exit_code == 0
        assert pumice("--state", "s.json", "--preset", "pumice").exit_code == 0


def start(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from pumice.cli import main; main()", "-q", "run", *args]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


@pytest.mark.usefixtures("cluster")
def test_each_cycle_is_printed_as_it_is_decided():
    run = start("cluster.json", "-o", "jsonl", "--cycles", "1000000")
    try:
        assert run.stdout is not None
        assert [json.loads(run.stdout.readline())["cycle"] for _ in range(3)] == [1, 2, 3]
        assert run.poll() is None, "it is still running"
    finally:
        run.kill()
        run.communicate()


@few_and_all(5, KILLS)
@pytest.mark.usefixtures("cluster")
def test_a_killed_run_loses_at_most_the_cycle_at_hand(count):
    """Runs killed at random points leave a readable file and decide as one run does."""
    dice, state = random.Random(7), Path("s.json")
    printed: dict[int, dict] = {}
    stored = 0
    for kill in range(1, count + 1):
        run = start("cluster.json", "-o", "jsonl", "--cycles", "1000000", "--state", "s.json")
        assert run.stdout is not None
        awaited = dice.randint(2, 5) if kill % 4 else 0
        first = "".join(run.stdout.readline() for _ in range(awaited))
        time.sleep(dice.uniform(0, 0.1 if awaited else 1))
        run.send_signal(signal.SIGKILL)
        rest = run.communicate()[0]
        complete = [line for line in (first + rest).splitlines(keepends=True) if line[-1] == "\n"]
        for line in decided([json.loads(line) for line in complete]):
            assert printed.setdefault(line["cycle"], line) == line, "repeated, but not the same"
        kept = load_state(state)
        last = max(printed)
        assert (kept.cycle if kept else 0) in (last - 1, last), f"kill {kill}"
        assert (kept.cycle if kept else 0) >= stored, f"kill {kill}"
        stored = kept.cycle if kept else 0
    assert list(printed) == list(range(1, max(printed) + 1)), "no cycle is missing"
    assert stored >= count * 3 // 4
    cycles = min(max(printed), 40)
    straight = decided(lines(pumice("cluster.json", "-o", "jsonl", "--cycles", str(cycles))))
    assert [printed[number] for number in range(1, cycles + 1)] == straight
