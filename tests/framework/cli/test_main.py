"""The command line as such: help, errors, exit statuses, logging."""

import json
import os
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from loguru import logger

from pumice import __version__
from pumice.cli import _group, main
from pumice.errors import InvariantError, PolicyError, PumiceError
from pumice.log import setup


@pytest.fixture
def raising(monkeypatch):
    """Make ``pumice boom`` raise what is given."""

    def raising(error: Exception) -> None:
        @click.command()
        def command() -> None:
            raise error

        monkeypatch.setitem(_group.COMMANDS, "boom", ("tests_boom:command", "Raise."))
        monkeypatch.setattr(
            _group, "import_module", lambda name: type("M", (), {"command": command})
        )

    return raising


def run(*args: str):
    return CliRunner().invoke(main, args, prog_name="pumice")


def test_help_lists_the_commands_without_importing_them():
    probe = (
        "import sys; from pumice.cli import main\n"
        "try: main(['--help'], prog_name='pumice')\n"
        "finally: print(sorted(m for m in sys.modules if m.startswith(('pumice.c', 'rich'))))"
    )
    paths = os.pathsep.join(path for path in sys.path if path)
    done = subprocess.run(
        [sys.executable, "-c", probe],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=True,
    )
    for name in ("run", "test", "plugins", "actions", "hooks", "config"):
        assert f"\n  {name} " in done.stdout
    assert "pumice.cli.plugins" not in done.stdout
    assert "pumice.config" not in done.stdout
    assert "'rich" not in done.stdout


def test_version():
    assert run("--version").stdout == f"pumice {__version__}\n"


@pytest.mark.parametrize(
    "args, words",
    [
        (["plugns"], "there is no command 'plugns'; did you mean 'plugins'?"),
        (["--nonsense"], "no such option"),
        (["plugins", "--nonsense"], "no such option"),
        (["config", "check"], "missing argument 'FILE'"),
        (["hooks", "-o", "xml"], "'xml' is not one of 'table', 'json'"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(args, words):
    result = run(*args)
    assert result.exit_code == 2
    assert result.stdout == ""
    first, second = result.stderr.splitlines()
    assert first.startswith("error: ")
    assert words in first
    assert second.startswith("hint: see 'pumice")


def test_a_known_error_is_reported_without_a_traceback(raising):
    raising(PumiceError("the disk is full", hint="empty it\nor buy another"))
    result = run("boom")
    assert result.exit_code == 2
    assert result.stderr == "error: the disk is full\nhint: empty it\nhint: or buy another\n"


def test_a_failed_check_has_exit_status_1(raising):
    raising(InvariantError("the accounts do not add up"))
    assert run("boom").exit_code == 1


def test_all_problems_of_a_policy_are_reported(raising):
    raising(PolicyError("p.toml", ["p.toml:1: a", "p.toml:2: b"]))
    result = run("boom")
    assert result.stderr == "error: p.toml: 2 problems\n  p.toml:1: a\n  p.toml:2: b\n"


def test_an_unexpected_error_is_reported_without_a_traceback(raising):
    raising(KeyError("x"))
    result = run("boom")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: KeyError: 'x'\nhint: ")
    assert "Traceback" not in result.stderr


def test_debug_shows_the_traceback(raising):
    raising(PumiceError("the disk is full"))
    result = run("--debug", "boom")
    assert isinstance(result.exception, PumiceError)


class TestLogging:
    @pytest.fixture
    def levels(self, capsys):
        def levels(verbosity):
            setup(verbosity)
            for level in ("debug", "info", "warning", "error"):
                getattr(logger, level)("said")
            return [line.split()[0] for line in capsys.readouterr().err.splitlines()]

        return levels

    def test_quiet_by_default(self, levels):
        assert levels(0) == ["WARNING", "ERROR"]

    def test_levels(self, levels):
        assert levels(-1) == ["ERROR"]
        assert levels(1) == ["INFO", "WARNING", "ERROR"]
        assert levels(2) == ["DEBUG", "INFO", "WARNING", "ERROR"]
        assert levels(9) == levels(2)

    def test_what_is_bound_is_shown(self, capsys):
        setup(1)
        logger.bind(job="ns/a{b}").info("bound <b> {x}", x="{y}")
        assert capsys.readouterr().err == "INFO bound <b> {y} job=ns/a{b} x={y}\n"

    def test_json_is_one_object_a_line(self, capsys):
        setup(1, json=True)
        logger.bind(plugin="gang").info("said")
        line = json.loads(capsys.readouterr().err)
        assert line["level"] == "info"
        assert line["message"] == "said"
        assert line["plugin"] == "gang"
