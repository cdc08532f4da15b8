"""Files that commands write: replaced in one step, and never through a symbolic link."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main

SCENARIO = """
objects: []
config: {actions: [allocate], tiers: [{plugins: [gang]}]}
expect: {binds: {}}
"""
COMMANDS = [
    ("config", "import", "volcano.yaml", "--from", "volcano", "-O", "out"),
    ("test", "empty.scenario.yaml", "--json", "out"),
]


@pytest.fixture(autouse=True)
def inputs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("volcano.yaml").write_text('actions: "allocate"\ntiers: [{plugins: [{name: gang}]}]\n')
    Path("empty.scenario.yaml").write_text(SCENARIO)


def pumice(*args: str):
    return CliRunner().invoke(main, args, prog_name="pumice")


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: args[0])
def test_a_file_is_replaced(args):
    Path("out").write_text("old")
    before = Path("out").stat().st_ino
    result = pumice(*args)
    assert result.exit_code == 0, result.output
    assert Path("out").read_text() not in ("", "old")
    assert Path("out").stat().st_ino != before, "written in place"


@pytest.mark.parametrize("args", COMMANDS, ids=lambda args: args[0])
def test_a_symbolic_link_is_refused(args):
    Path("target").write_text("old")
    Path("out").symlink_to("target")
    result = pumice(*args)
    assert result.exit_code == 2
    assert "out: cannot be written: it is a symbolic link to target" in result.output
    assert Path("target").read_text() == "old"


def test_a_new_distribution_is_not_written_through_a_link():
    Path("target").mkdir()
    Path("pumice-shiny").symlink_to("target")
    result = pumice("new", "plugin", "shiny")
    assert result.exit_code == 2
    assert "already exists" in result.output
    assert list(Path("target").iterdir()) == []
