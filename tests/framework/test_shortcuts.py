"""Disabling shortcuts: in a policy, on the command line, and in sessions."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice import (
    Inventory,
    MemoryBackend,
    Plugin,
    Scheduler,
    Shortcut,
    deprecated,
    hookimpl,
    load_policy,
    policy_from_dict,
)
from pumice.cli import main
from pumice.discovery import Catalog
from pumice.errors import PolicyError
from pumice.shortcuts import ALL, FRAMEWORK

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "docs" / "examples" / "demo"
FRAMEWORK_NAMES = [shortcut.name for shortcut in FRAMEWORK]
SCENARIO = min((ROOT / "tests" / "scenarios").rglob("*.yaml"))
TIERS = 'actions = ["allocate"]\n[[tiers]]\nplugins = ["gang"]\n[scheduler]\n'


def policy(tmp_path, text, **sources):
    file = tmp_path / "policy.toml"
    file.write_text(TIERS + text)
    return load_policy(file, **{"env": {}, **sources})


class TestPolicy:
    def test_by_default_every_shortcut_is_taken(self, tmp_path):
        made = policy(tmp_path, "")
        assert set(made.shortcuts) == {*FRAMEWORK_NAMES, "victims"}
        assert all(made.uses(name) for name in made.shortcuts)

    def test_named_shortcuts_are_disabled(self, tmp_path):
        made = policy(tmp_path, 'plain = ["order_keys", "victims"]')
        unused = [name for name in made.shortcuts if not made.uses(name)]
        assert unused == ["order_keys", "victims"]

    def test_all_disables_every_shortcut(self, tmp_path):
        made = policy(tmp_path, f'plain = ["{ALL}"]')
        assert not any(made.uses(name) for name in made.shortcuts)

    def test_the_environment_takes_a_list_of_shortcuts(self, tmp_path):
        env = {"PUMICE_SCHEDULER__PLAIN": "order_keys, gc_pause"}
        assert policy(tmp_path, "", env=env).scheduler.plain == ("order_keys", "gc_pause")

    def test_a_shortcut_of_an_action_that_is_not_listed_may_be_named(self, tmp_path):
        assert "pod_counts" not in policy(tmp_path, 'plain = ["pod_counts"]').shortcuts

    @pytest.mark.parametrize("wrong, right", [("node_cahce", "node_cache"), ("victim", "victims")])
    def test_a_wrong_name_is_reported_with_its_line_and_the_right_one(self, tmp_path, wrong, right):
        with pytest.raises(PolicyError) as error:
            policy(tmp_path, f'plain = ["order_keys", "{wrong}"]')
        (problem,) = error.value.problems
        assert "policy.toml:5" in problem
        assert f"did you mean '{right}'?" in problem
        assert f"'{wrong}'" in problem

    def test_an_unknown_name_without_a_near_one_lists_all(self, tmp_path):
        with pytest.raises(PolicyError, match=r"one of node_cache, .*, all\), not 'zzz'"):
            policy(tmp_path, 'plain = ["zzz"]')

    def test_more_shortcuts_can_be_disabled_later(self, tmp_path):
        made = policy(tmp_path, 'plain = ["order_keys"]')
        assert made.without([]) is made
        without = made.without(["node_cache", "order_keys"])
        assert without.scheduler.plain == ("order_keys", "node_cache")


class TestOldNames:
    @pytest.mark.parametrize("old", [renamed.old for renamed in deprecated.SHORTCUTS])
    def test_an_old_name_works_with_a_warning(self, tmp_path, old):
        new = deprecated.renamed_shortcut(old).new
        with pytest.warns(DeprecationWarning, match=f"'{old}' is called '{new}' since 0.2; 0.3"):
            assert policy(tmp_path, f'plain = ["{old}"]').scheduler.plain == (new,)

    def test_several_old_names_of_one_shortcut_count_once(self, tmp_path):
        with pytest.warns(DeprecationWarning, match="shortcut"):
            made = policy(tmp_path, "").without(["answers", "spans", "keys"])
        assert made.scheduler.plain == ("node_cache", "order_keys")

    def test_every_old_name_leads_to_a_shortcut(self):
        assert {renamed.new for renamed in deprecated.SHORTCUTS} <= set(Catalog().shortcuts)


class TestDeclared:
    """A plugin or action of any distribution may declare shortcuts, too."""

    @pytest.fixture
    def made(self):
        class Own(Plugin):
            shortcuts = (Shortcut("own_cache", "something is cached", "it is not"),)

            @hookimpl
            def on_session_open(self):
                self.session.state["uses"] = self.session.uses("own_cache")

        catalog = Catalog()
        catalog.register_local("plugin", "own", Own)

        def make(*plain):
            table = {
                "actions": ["allocate"],
                "tiers": [{"plugins": ["own"]}],
                "scheduler": {"plain": plain},
            }
            return policy_from_dict(table, catalog=catalog)

        return make

    @pytest.mark.parametrize("plain, taken", [((), True), (("own_cache",), False)])
    def test_a_shortcut_is_taken_unless_the_policy_disables_it(self, made, plain, taken):
        session = Scheduler(MemoryBackend(Inventory()), made(*plain)).open_session()
        assert session.state["uses"] is taken

    def test_a_declared_shortcut_is_known(self, made):
        assert made().shortcuts["own_cache"].instead == "it is not"
        with pytest.raises(PolicyError, match="did you mean 'own_cache'"):
            made("own_cahce")


class TestCommandLine:
    @pytest.fixture
    def plain_of(self, monkeypatch):
        """The shortcuts that are disabled in the schedulers of a command."""
        seen = []
        init = Scheduler.__init__

        def noting(scheduler, backend, policy, **options):
            seen.append(policy.scheduler.plain)
            init(scheduler, backend, policy, **options)

        monkeypatch.setattr(Scheduler, "__init__", noting)
        return seen

    @pytest.mark.parametrize("command", [("run", DEMO), ("test", SCENARIO)])
    def test_every_given_shortcut_is_disabled(self, command, plain_of):
        arguments = [*map(str, command), "--plain", "order_keys", "--plain", "node_cache"]
        result = CliRunner().invoke(main, arguments, prog_name="pumice")
        assert result.exit_code == 0, result.output
        assert set(plain_of) == {("order_keys", "node_cache")}

    def test_the_decisions_stay_the_same(self):
        with_all, without = (
            CliRunner().invoke(main, ["run", str(DEMO), "--cycles", "2", *more]).output
            for more in ([], ["--plain", ALL])
        )
        assert "bound" in with_all
        assert without == with_all

    def test_decisions_stay_the_same_in_worker_processes(self):
        files = [str(file) for file in sorted(SCENARIO.parent.glob("*.yaml"))[:4]]
        result = CliRunner().invoke(main, ["test", *files, "-j", "2", "--plain", ALL])
        assert result.exit_code == 0, result.output
        assert " passed, 0 failed" in result.output

    @pytest.mark.parametrize("command", [("run", DEMO), ("test", SCENARIO)])
    def test_an_unknown_shortcut_ends_the_command(self, command):
        arguments = [*map(str, command), "--plain", "order_kees"]
        result = CliRunner().invoke(main, arguments, prog_name="pumice")
        assert result.exit_code == 2
        assert "--plain: there is no shortcut 'order_kees'" in result.stderr
        assert "did you mean 'order_keys'?" in result.stderr


def test_every_shortcut_is_one_that_the_code_takes():
    """Disabling a shortcut that no code takes would have no effect."""
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
    assert asked == set(Catalog().shortcuts)
