"""Doing without shortcuts: how a policy and the command line say so, and who is told."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.config import SchedulerSettings, load_policy
from pumice.errors import PolicyError
from pumice.scheduler import Scheduler
from pumice.shortcuts import ALL, SHORTCUTS

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "docs" / "examples" / "demo"
SCENARIO = min((ROOT / "tests" / "scenarios").rglob("*.yaml"))
TIERS = 'actions = ["allocate"]\n[[tiers]]\nplugins = ["gang"]\n[scheduler]\n'


def policy(tmp_path, text, **sources):
    file = tmp_path / "policy.toml"
    file.write_text(TIERS + text)
    return load_policy(file, **{"env": {}, **sources})


class TestPolicy:
    def test_by_default_every_shortcut_is_taken(self):
        assert all(SchedulerSettings().uses(name) for name in SHORTCUTS)

    def test_those_named_are_done_without(self, tmp_path):
        settings = policy(tmp_path, 'plain = ["keys", "answers"]').scheduler
        assert [name for name in SHORTCUTS if not settings.uses(name)] == ["answers", "keys"]

    def test_all_means_every_one(self, tmp_path):
        settings = policy(tmp_path, f'plain = ["{ALL}"]').scheduler
        assert not any(settings.uses(name) for name in SHORTCUTS)

    def test_the_environment_names_them_in_a_row(self, tmp_path):
        env = {"PUMICE_SCHEDULER__PLAIN": "keys, ranked"}
        assert policy(tmp_path, "", env=env).scheduler.plain == ("keys", "ranked")

    def test_a_wrong_name_is_told_with_its_line_and_the_right_one(self, tmp_path):
        with pytest.raises(PolicyError) as error:
            policy(tmp_path, 'plain = ["keys", "anwsers"]')
        (problem,) = error.value.problems
        assert "policy.toml:5" in problem
        assert "did you mean 'answers'?" in problem
        assert "'anwsers'" in problem

    def test_a_name_like_no_other_is_told_with_all_there_are(self, tmp_path):
        with pytest.raises(PolicyError, match=r"one of answers, .*, all\), not 'zzz'"):
            policy(tmp_path, 'plain = ["zzz"]')

    def test_more_can_be_done_without_later(self, tmp_path):
        made = policy(tmp_path, 'plain = ["keys"]')
        assert made.without([]) is made
        assert made.without(["answers", "keys"]).scheduler.plain == ("keys", "answers")

    def test_an_engine_that_misspells_a_shortcut_is_told(self):
        with pytest.raises(ValueError, match="no shortcut 'anwsers'; did you mean 'answers'"):
            SchedulerSettings().uses("anwsers")


class TestCommandLine:
    @pytest.fixture
    def told(self, monkeypatch):
        """What the schedulers that a command makes do without."""
        seen = []
        init = Scheduler.__init__

        def noting(scheduler, backend, policy, **options):
            seen.append(policy.scheduler.plain)
            init(scheduler, backend, policy, **options)

        monkeypatch.setattr(Scheduler, "__init__", noting)
        return seen

    @pytest.mark.parametrize("command", [("run", DEMO), ("test", SCENARIO)])
    def test_every_name_given_is_done_without(self, command, told):
        arguments = [*map(str, command), "--plain", "keys", "--plain", "answers"]
        result = CliRunner().invoke(main, arguments, prog_name="pumice")
        assert result.exit_code == 0, result.output
        assert set(told) == {("keys", "answers")}

    def test_the_decisions_stay_the_same(self):
        with_all, without = (
            CliRunner().invoke(main, ["run", str(DEMO), "--cycles", "2", *more]).output
            for more in ([], ["--plain", ALL])
        )
        assert "bound" in with_all
        assert without == with_all

    def test_so_they_do_in_other_processes(self):
        files = [str(file) for file in sorted(SCENARIO.parent.glob("*.yaml"))[:4]]
        result = CliRunner().invoke(main, ["test", *files, "-j", "2", "--plain", ALL])
        assert result.exit_code == 0, result.output
        assert " passed, 0 failed" in result.output

    @pytest.mark.parametrize("command", [("run", DEMO), ("test", SCENARIO)])
    def test_a_wrong_name_ends_it(self, command):
        arguments = [*map(str, command), "--plain", "kees"]
        result = CliRunner().invoke(main, arguments, prog_name="pumice")
        assert result.exit_code == 2
        assert "--plain: there is no shortcut 'kees'" in result.stderr
        assert "did you mean 'keys'?" in result.stderr


def test_every_shortcut_is_one_that_the_code_takes():
    """A name that nobody asks for would be done without in vain."""
    sources = [
        file
        for part in ("framework", "builtin_plugins", "builtin_actions")
        for file in (ROOT / part).rglob("*.py")
        if file.name != "shortcuts.py"
    ]
    asked = {
        name
        for file in sources
        for name in re.findall(r'\buses\(\s*"(\w+)"\s*\)', file.read_text(encoding="utf-8"))
    }
    assert asked == set(SHORTCUTS)
