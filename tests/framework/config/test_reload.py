"""A policy is replaced whole or not at all, and its actions are notified."""

import pytest

from pumice import Action, Plugin
from pumice.config import PolicyHolder, load_policy
from pumice.errors import LoadError, PolicyError

GOOD = 'actions = ["go"]\n[[tiers]]\nplugins = ["p"]\n'


@pytest.fixture
def log():
    return []


@pytest.fixture
def holder(catalog, tmp_path, log):
    class Go(Action):
        class Options(Action.Options):
            number: int = 0

        def initialize(self):
            if self.options.number == 13:
                raise OSError("port in use")
            log.append(f"init {self.name} {self.options.number}")

        def execute(self, session):
            pass

        def uninitialize(self):
            log.append(f"drop {self.name} {self.options.number}")
            if self.options.number == 7:
                raise OSError("cannot let go")

    catalog.register_local("plugin", "p", Plugin)
    catalog.register_local("action", "go", Go)
    catalog.register_local("action", "went", Go)
    (tmp_path / "policy.toml").write_text(GOOD)
    return PolicyHolder(lambda: load_policy(tmp_path / "policy.toml", env={}, catalog=catalog))


def write(tmp_path, text):
    (tmp_path / "policy.toml").write_text(text)


def test_actions_are_initialized_with_their_options(holder, log):
    assert [action.name for action in holder.actions] == ["go"]
    assert log == ["init go 0"]


def test_a_good_file_replaces_policy_and_actions(holder, log, tmp_path):
    old = holder.actions[0]
    write(tmp_path, f"{GOOD}[action.go]\nnumber = 2\n")
    assert holder.reload() is None
    assert holder.policy.actions[0].options.number == 2
    assert holder.actions[0] is not old
    assert log == ["init go 0", "init go 2", "drop go 0"]


def test_a_bad_file_changes_nothing(holder, log, tmp_path):
    policy, actions = holder.policy, holder.actions
    write(tmp_path, GOOD.replace('"go"', '"go", "gone"'))
    error = holder.reload()
    assert isinstance(error, PolicyError)
    assert "'gone'" in error.problems[0]
    assert holder.policy is policy
    assert holder.actions is actions
    assert log == ["init go 0"]


def test_a_file_that_vanished_changes_nothing(holder, tmp_path):
    policy = holder.policy
    (tmp_path / "policy.toml").unlink()
    assert isinstance(holder.reload(), PolicyError)
    assert holder.policy is policy


def test_an_action_that_cannot_start_changes_nothing(holder, log, tmp_path):
    policy = holder.policy
    both = GOOD.replace('"go"', '"went", "go"')
    write(tmp_path, f"{both}[action.go]\nnumber = 13\n")
    error = holder.reload()
    assert isinstance(error, LoadError)
    assert "action 'go' (local) failed to initialize: OSError: port in use" in str(error)
    assert holder.policy is policy
    assert log == ["init go 0", "init went 0", "drop went 0"]


def test_an_action_that_fails_to_uninitialize_does_not_stop_a_reload(holder, tmp_path):
    write(tmp_path, f"{GOOD}[action.go]\nnumber = 7\n")
    assert holder.reload() is None
    write(tmp_path, GOOD)
    assert holder.reload() is None
    assert holder.policy.actions[0].options.number == 0


def test_close_uninitializes_in_reverse_order(holder, log, tmp_path):
    write(tmp_path, GOOD.replace('"go"', '"go", "went"'))
    holder.reload()
    log.clear()
    holder.close()
    assert log == ["drop went 0", "drop go 0"]
