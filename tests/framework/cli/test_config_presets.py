"""``pumice config show`` of presets, with the installed plugins and actions."""

import json

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.config.settings import AS_UPSTREAM


@pytest.fixture(autouse=True)
def _wide(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)


def show(*args: str) -> str:
    result = CliRunner().invoke(main, ["config", "show", *args], prog_name="pumice")
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("preset", ["kai", "pumice", "volcano"])
def test_show_a_preset(preset):
    assert f"policy   preset {preset}" in show("--preset", preset)


def test_show_without_a_file_is_the_default():
    assert "policy   preset pumice" in show()


def rows(*args: str) -> list[list[str]]:
    return [line.split() for line in show(*args).splitlines()]


@pytest.mark.parametrize("promise", AS_UPSTREAM)
def test_the_promises_are_shown(promise):
    assert ["evictions", promise, "True"] in rows()
    assert ["evictions", promise, "False", "*"] in rows("--preset", "volcano")


def test_a_promise_is_switched_off_by_an_override_and_shows_why():
    why = rows("--why", "--set", "evictions.minimal=false")
    assert ["evictions", "minimal", "False", "*", "--set", "evictions.minimal=false"] in why
    assert ["evictions", "atomic", "True", "default"] in why


def test_the_environment_sets_them(monkeypatch):
    monkeypatch.setenv("PUMICE_EVICTIONS__RESERVATION", "2m")
    data = json.loads(show("-o", "json"))
    assert data["evictions"]["reservation"] == 120.0
    assert data["config"]["evictions"] == {"reservation": "2m"}
