"""``pumice doctor`` reports problems of what is installed; ``completion`` prints scripts."""

import json
import shutil
import subprocess

import pytest
from click.testing import CliRunner

from pumice import deprecated
from pumice.cli import doctor, main
from pumice.deprecated import Renamed

GOOD = """
    from pumice import Plugin, hookimpl

    class Good(Plugin):
        '''Nothing wrong.'''

        @hookimpl
        def job_ready(self, job):
            return True
"""


@pytest.fixture(autouse=True)
def good(site):
    site.install("pumice-good", GOOD, plugins={"good": "Good"})
    return site


def run(*args: str, status: int = 0) -> str:
    result = CliRunner().invoke(main, args, prog_name="pumice")
    assert result.exit_code == status, result.output
    return result.stdout


def test_a_good_installation_has_no_problem():
    out = run("doctor")
    checked = "1 plugin, 0 actions, 0 backends, 0 hookspecs, 0 traces, 0 measures"
    assert out == f"checked {checked}: all well\n"
    assert json.loads(run("doctor", "-o", "json"))["ok"] is True


WRONG = {
    "broken": ("import nowhere", "bad", "error: broken: plugin 'bad' (pumice-bad 2.0"),
    "another API": (
        GOOD.replace("@hookimpl", "api_version = '9.0'\n\n        @hookimpl"),
        "bad",
        "error: API version: plugin 'bad' (pumice-bad 2.0, pumice_bad:Good): it was written for",
    ),
    "a name twice": (GOOD, "good", "error: claimed twice: plugin 'good' is installed by pumice-"),
    "not decorated": (
        GOOD.replace("@hookimpl", ""),
        "bad",
        "error: not a hook: plugin 'bad' (pumice-bad 2.0): method job_ready is named like",
    ),
}


@pytest.mark.parametrize("source, name, text", WRONG.values(), ids=WRONG)
def test_problems_are_reported_and_fail(good, source, name, text):
    good.install("pumice-bad", source, version="2.0", plugins={name: "Good"})
    out = run("doctor", status=1)
    assert text in out
    assert out.endswith("1 wrong\n")
    data = json.loads(run("doctor", "-o", "json", status=1))
    assert data["ok"] is False
    assert [finding["wrong"] for finding in data["findings"]] == [True]


def test_hookspecs_are_checked(good):
    good.install("pumice-bad", "class Specs: pass", hookspecs={"bad": "Specs"})
    assert "error: broken: hookspecs 'bad' (pumice-bad 1.0" in run("doctor", status=1)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_deprecated_name_is_reported_without_failing(good, monkeypatch):
    monkeypatch.setattr(deprecated, "RENAMED", (Renamed("job_done", "job_ready", "0.2"),))
    old = GOOD.replace("job_ready", "job_done")
    good.install("pumice-old", old, plugins={"old": "Good"})
    out = run("doctor")
    assert "warning: old name: plugin 'old' (pumice-old 1.0): hook 'job_done' is called" in out


def test_our_distributions_must_have_one_version(monkeypatch):
    monkeypatch.setattr(doctor, "version", lambda name: "0.0.1" if "actions" in name else "0.2.0")
    out = run("doctor", status=1)
    assert "versions differ: " in out
    assert "pumice-builtin-actions 0.0.1" in out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_printed(shell, tmp_path):
    script = run("completion", shell)
    assert "_PUMICE_COMPLETE" in script
    if shutil.which(shell):
        (tmp_path / "script").write_text(script)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_an_unknown_shell_is_refused():
    run("completion", "csh", status=2)


@pytest.mark.parametrize(
    "line, offered",
    [
        ("pumice plugins go", "plain,good"),
        ("pumice hooks job_rea", "plain,job_ready"),
        ("pumice doc", "plain,doctor"),
    ],
)
def test_names_are_completed(line, offered):
    words = line.split()
    environment = {
        "_PUMICE_COMPLETE": "bash_complete",
        "COMP_WORDS": line,
        "COMP_CWORD": str(len(words) - 1),
    }
    result = CliRunner().invoke(main, [], prog_name="pumice", env=environment)
    assert result.output.splitlines() == [offered]
