"""The page of ``pumice top``: its tables, its size, its keys, and what it explains."""

import os
import re
import threading
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from rich.cells import cell_len

from pumice import MemoryBackend, Scheduler, load_policy
from pumice.cli import main
from pumice.cli._cluster import adopt_pods
from pumice.cli.top.app import App
from pumice.cli.top.cycles import Cycles
from pumice.cli.top.page import KEYS, Content, Page
from pumice.cli.top.panes import make_pane
from pumice.cli.top.state import State
from pumice.cli.top.terminal import read_keys
from tests.framework.cli.test_golden import crowd
from tests.framework.cli.test_live import Live, pumice

__all__ = ["pumice"]
ROOT = Path(__file__).resolve().parents[3]
DEMO = ROOT / "docs/examples/demo"
SIZES = [(80, 24), (160, 50), (40, 12)]


def demo(files=(str(DEMO),)) -> Cycles:
    policy = load_policy(DEMO / "policy.toml")
    backend = MemoryBackend.from_files(files)
    adopt_pods(backend, policy)
    return Cycles(Scheduler(backend, policy))


@pytest.fixture(scope="module")
def decided() -> Cycles:
    cycles = demo()
    cycles.step()
    return cycles


@pytest.fixture(scope="module")
def many(tmp_path_factory) -> Cycles:
    file = tmp_path_factory.mktemp("crowd") / "crowd.yaml"
    file.write_text(crowd())
    cycles = demo([str(file)])
    cycles.step()
    return cycles


def page_of(cycles: Cycles, state: State, columns=80, lines=24) -> list[str]:
    content = Content("pumice top", cycles.last.view, 0.012)
    return [click.unstyle(line) for line in Page().lines(state, content, columns, lines)]


class TestPage:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("pane", ["queues", "nodes", "jobs"])
    def test_it_has_the_size_of_the_terminal(self, many, size, pane):
        lines = page_of(many, State(pane=pane), *size)
        assert len(lines) == size[1]
        assert max(map(cell_len, lines)) <= size[0]

    def test_all_panes_are_seen_at_80_by_24(self, decided):
        lines = page_of(decided, State())
        assert lines[0] == (
            "pumice top  cycle 1: 1 bound, 5 evicted, 5 promised (decided in 12 ms)"
        )
        assert lines[1].endswith("jobs: 1 waiting, 2 promised, 2 evicted, 1 running")
        for text in ("production          6        6         6   100%", "gpu-a  ██████████  4/4"):
            assert any(line.startswith(text) for line in lines)
        assert any(
            re.match(r"research/ablation +research +waiting +0/2 +Victims", x) for x in lines
        )
        assert lines[-1] == KEYS
        assert len(KEYS) <= 80

    def test_the_current_pane_gets_the_lines_that_the_others_leave(self, many):
        def rows(lines, name):
            return sum(line.startswith(name) for line in lines)

        jobs, nodes = (page_of(many, State(pane=pane)) for pane in ("jobs", "nodes"))
        assert (rows(jobs, "ns/job"), rows(jobs, "n")) == (8, 3 + 8)
        assert rows(nodes, "ns/job") < rows(jobs, "ns/job")
        assert rows(nodes, "n") - rows(nodes, "ns/job") == 6

    def test_a_small_terminal_is_told_what_is_needed(self, decided):
        assert page_of(decided, State(), 39, 24)[0] == "pumice top needs 40 columns and 12 line"

    def test_before_the_first_cycle_it_says_so(self):
        lines = Page().lines(State(), None, 80, 24)
        assert lines[0] == "pumice top: the first cycle is being decided"

    def test_names_cannot_steer_the_terminal(self, decided):
        content = Content("a\x1b[2Jb", decided.last.view, notice="x\ny\x07")
        lines = Page().lines(State(), content, 80, 24, colour=False)
        assert "a [2Jb" in click.unstyle(lines[0])
        assert "! x y " in [line + " " for line in lines]

    def test_resources_are_shown_one_by_one(self, decided):
        state = State(resource="cpu")
        lines = page_of(decided, state)
        assert lines[2].startswith("cpu: ████")
        assert any(line.startswith("plain  ██████████  16/16") for line in lines)

    def test_empty_columns_are_left_out(self, many):
        heads = make_pane("queues", many.last.view, "cpu").table.columns
        assert "LIMIT" not in heads
        assert heads[0] == "QUEUE"


class TestKeys:
    def press(self, state, *keys, rows=("a", "b", "c"), resources=("cpu", "memory")):
        return [state.press(key, rows, resources, 10) for key in keys][-1]

    def test_panes_are_switched(self):
        state = State()
        self.press(state, "tab")
        assert state.pane == "queues"
        self.press(state, "2")
        assert state.pane == "nodes"

    def test_a_row_is_selected_and_stays_selected_when_others_come(self):
        state = State()
        self.press(state, "down", "down", "down", "up")
        assert state.position.find(["a", "b", "c"]) == 1
        assert state.position.find(["a", "new", "x", "b", "c"]) == 3
        assert state.position.find(["a"]) == 0
        assert state.position.find([]) == -1
        assert state.position.find(["a", "b"]) == 1

    def test_a_filter_is_typed_applied_and_dropped(self, decided):
        state = State()
        self.press(state, "/", "t", "r", "a", "x", "backspace", "q")
        assert state.typing == "traq"
        assert "filter jobs: traq" in page_of(decided, state)[-1]
        self.press(state, "backspace", "enter")
        assert (state.position.filter, state.typing) == ("tra", None)
        lines = page_of(decided, state)
        # The second was evicted for the first, and its reason says so.
        jobs = [line.split()[0] for line in lines if "/" in line.split(" ")[0]]
        assert jobs == ["production/train", "research/sweep"]
        assert any("2 of 6 jobs" in line for line in lines)
        self.press(state, "escape")
        assert state.position.filter == ""
        self.press(state, "/", "y", "escape")
        assert (state.position.filter, state.typing) == ("", None)

    def test_wishes(self):
        state = State()
        assert self.press(state, "enter") == "explain"
        assert state.position.key == "a"
        assert self.press(state, "n") == "step"
        assert self.press(state, "enter", rows=()) is None
        assert self.press(state, "q") == "quit"

    def test_a_text_is_scrolled_and_closed(self, decided):
        state = State(text="\n".join(map(str, range(100))))
        self.press(state, "end")
        assert "99" in page_of(decided, state)
        self.press(state, "home")
        assert "0" in page_of(decided, state)
        assert self.press(state, "q") is None
        assert state.text == ""
        self.press(state, "?")
        assert "explain the selected job" in "\n".join(page_of(decided, state))

    def test_the_resource_is_switched(self):
        state = State(resource="cpu")
        self.press(state, "r")
        assert state.resource == "memory"
        self.press(state, "r")
        assert state.resource == "cpu"

    @pytest.mark.parametrize(
        "text, keys",
        [
            ("q", ["q"]),
            ("\x1b[A\x1b[Bj", ["up", "down", "j"]),
            ("\x1b", ["escape"]),
            ("\x1b[5~\x1b[6~\x1b[H\x1bOF", ["pageup", "pagedown", "home", "end"]),
            ("\x1b[1;5Cx", ["x"]),
            ("\x1b[", []),
            ("ä\r\t\x7f", ["ä", "enter", "tab", "backspace"]),
        ],
    )
    def test_what_terminals_send(self, text, keys):
        assert list(read_keys(text)) == keys


class Screen:
    """A terminal whose user presses each key once the page shows what is awaited before it."""

    def __init__(self, *script: tuple[str, str]) -> None:
        self.script = list(script)
        self.pages: list[str] = []
        self.end = time.monotonic() + 60

    def size(self):
        return 80, 24

    def draw(self, lines):
        self.pages.append(click.unstyle("\n".join(lines)))

    def keys(self, seconds):
        time.sleep(0.01)
        awaited, key = self.script[0]
        if self.pages and awaited in self.pages[-1]:
            self.script.pop(0)
            return [key]
        if time.monotonic() > self.end:
            raise AssertionError(f"{awaited!r} is not shown:\n{self.pages[-1]}")
        return []


def run_app(cycles: Cycles, *script: tuple[str, str], most: int = 10_000) -> App:
    def loop():
        while cycles.scheduler.cycle < most and cycles.sleep(0.01):
            cycles.step()

    app = App("pumice top", cycles, Screen(*script))
    cycles.start(loop)
    app.run()
    cycles.stop()
    assert cycles.ended.wait(60)
    return app


class TestApp:
    def test_a_job_a_queue_and_a_node_are_explained(self):
        run_app(
            demo(),
            ("research/ablation", "enter"),
            ("is pending: VictimsProtected", "escape"),
            ("tab pane", "1"),
            ("tab pane", "enter"),
            ("queue default is Open", "escape"),
            ("tab pane", "2"),
            ("tab pane", "enter"),
            ("nvidia.com/gpu: 4 of 4, 0 free", "q"),
            ("tab pane", "q"),
            most=1,
        )

    def test_the_explanation_is_that_of_pumice_explain(self, decided, monkeypatch):
        monkeypatch.setenv("COLUMNS", "100")
        shown = decided.explain(decided.last, "jobs", "research/ablation", 100)
        policy = str(DEMO / "policy.toml")
        words = ["explain", "research/ablation", str(DEMO), "-c", policy, "--budget", "0"]
        result = CliRunner().invoke(main, words)
        assert result.stdout == shown + "\n"

    def test_a_pause_holds_cycles_back_and_one_may_be_run(self):
        cycles = demo()
        cycles.pause(True)
        done = threading.Event()

        def loop():
            for _ in range(3):
                cycles.step()
            done.set()

        cycles.start(loop)
        assert not cycles.ended.wait(0.1)
        assert cycles.scheduler.cycle == 0
        cycles.step_once()
        end = time.monotonic() + 60
        while cycles.last is None and time.monotonic() < end:
            time.sleep(0.01)
        assert not cycles.ended.wait(0.1)
        assert cycles.scheduler.cycle == 1
        cycles.pause(False)
        assert done.wait(60)
        assert cycles.scheduler.cycle == 3

    def test_pausing_by_key(self):
        cycles = demo()
        app = run_app(cycles, ("decided in", " "), ("[paused]", "n"), ("[paused]", "p"), ("", "q"))
        assert not app.state.paused
        assert cycles.scheduler.cycle > 1

    def test_what_ends_the_cycles_ends_the_page(self):
        cycles = demo()

        def loop():
            raise RuntimeError("the cluster is gone")

        cycles.start(loop)
        with pytest.raises(RuntimeError, match="the cluster is gone"):
            App("pumice top", cycles, Screen(("never", "q"))).run()

    def test_a_job_that_is_gone_is_reported(self):
        cycles = demo()
        cycles.step()
        with pytest.raises(Exception, match="no job"):
            cycles.explain(cycles.last, "jobs", "x/gone", 80)


class TestCommand:
    def run(self, *words, **more):
        policy = str(DEMO / "policy.toml")
        return CliRunner().invoke(main, ["top", str(DEMO), "-c", policy, *words], **more)

    def test_a_pipe_gets_one_page_of_plain_text(self):
        result = self.run("--cycles", "2")
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout
        assert result.stdout.startswith("pumice top  cycle 2: 5 bound, 0 evicted, 0 promised\n")
        assert "production/train            production  running    3/3" in result.stdout
        assert result.stdout == self.run("--cycles", "2", "--once").stdout

    def test_long_tables_are_cut_unless_full(self, tmp_path):
        (tmp_path / "crowd.yaml").write_text(crowd())
        words = ["top", str(tmp_path / "crowd.yaml"), "-c", str(DEMO / "policy.toml")]
        short = CliRunner().invoke(main, words).stdout
        assert "… and 10 more jobs" in short
        assert short.count("ns/job-") == 20 + short.count("for ns/job-")
        assert "more jobs" not in CliRunner().invoke(main, [*words, "--full"]).stdout

    def test_without_files_the_error_says_what_to_give(self):
        result = CliRunner().invoke(main, ["top"])
        assert result.exit_code != 0
        assert "give FILES" in result.stderr


def test_a_live_cluster_is_watched_and_never_changed(pumice, monkeypatch):
    from pumice.discovery import Catalog

    def catalog():
        made = Catalog()
        made.register_local("backend", "live", Live)
        return made

    monkeypatch.setattr("pumice.cli.top.command.Catalog", catalog)
    result = pumice("top", "--backend-set", "speed=7")
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("pumice top live  cycle 1: 0 bound")
    (backend,) = Live.made
    assert (backend.dry_run, backend.closed, backend.speed) == (True, True, 7)
    for words, text in ((("x.yaml",), "FILES"), (("--now", "2026-01-01T00:00:00Z"), "--now")):
        assert f"does not take {text}" in pumice("top", *words).stderr


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo terminal")
@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}], ids=["colour", "NO_COLOR"])
def test_on_a_terminal_it_draws_explains_and_leaves_all_as_before(variables):
    from tests.framework.cli._terminal import Program

    words = ["top", "docs/examples/demo", "-c", "docs/examples/demo/policy.toml", "-d", "0.05"]
    with Program(words, 80, 24, cwd=ROOT, TERM="xterm-256color", **variables) as program:
        program.wait_for("research/ablation")
        program.send(" ")
        program.wait_for("[paused]")
        program.send("\r")
        page = program.wait_for("is pending: VictimsProtected")
        assert len(page) == 24
        program.send("\x1b")
        program.wait_for("tab pane")
        program.resize(100, 30)
        assert len(program.wait_for("30 lines", lambda page: len(page) == 30)) == 30
        program.send("q")
        assert program.wait() == 0
        assert ("\x1b[32m" in program.output) is not bool(variables)
        assert program.output.rstrip().endswith("\x1b[?1049l")
        assert program.attributes() == program.before
