"""Progress is shown on a terminal only, after a second, and leaves nothing behind."""

import io

import pytest

from pumice.cli import _progress
from pumice.cli._progress import Progress, line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch):
    times = [0.0]
    monkeypatch.setattr(_progress, "monotonic", lambda: times[0])
    monkeypatch.setenv("TERM", "xterm")
    return times


def shown(monkeypatch, clock, seconds: float, stream: io.StringIO) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    with Progress("testing", "files") as progress:
        clock[0] = seconds
        progress.update(250, 1000)
    return stream.getvalue()


def test_the_bar_shows_rate_and_rest():
    text = line("testing", 250, 1000, 10.0, "files")
    assert text.startswith("testing ━")
    for part in ("25%", "250/1,000 files", "25/s", "0:30 left"):
        assert part in text


def test_without_a_total_the_time_is_shown():
    assert line("loading", 0, 0, 75.0) == "loading  1:15"


def test_it_is_drawn_after_a_second_and_erased(monkeypatch, clock):
    text = shown(monkeypatch, clock, 2.0, Terminal())
    assert "250/1,000 files" in text
    assert text.endswith("\r\x1b[K")


def test_what_is_quick_shows_nothing(monkeypatch, clock):
    assert shown(monkeypatch, clock, 0.9, Terminal()) == ""


def test_a_pipe_and_a_dumb_terminal_get_nothing(monkeypatch, clock):
    assert shown(monkeypatch, clock, 2.0, io.StringIO()) == ""
    monkeypatch.setenv("TERM", "dumb")
    assert shown(monkeypatch, clock, 2.0, Terminal()) == ""


def test_what_takes_long_is_drawn_between_updates(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(_progress, "DELAY", 0.01)
    with Progress("loading", ticks=True) as progress:
        for _ in range(500):
            if stream.getvalue():
                break
            progress._ended.wait(0.01)
    assert "loading  0:00" in stream.getvalue()
