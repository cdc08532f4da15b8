"""The reference pages say what the code says."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from pumice.cli import main
from pumice.hookspecs import POINTS

DOCS = Path(__file__).parent.parent / "docs"


def test_generated_pages_are_up_to_date() -> None:
    command = [sys.executable, str(DOCS / "generate.py"), "--check"]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    assert told.returncode == 0, f"run `python docs/generate.py`:\n{told.stdout}{told.stderr}"


def test_every_extension_point_has_its_section() -> None:
    page = (DOCS / "extension-points.md").read_text()
    missing = [name for name in POINTS if f"\n### {name}\n" not in page]
    assert not missing


def test_every_builtin_part_has_its_section() -> None:
    for folder, group, page in (
        ("builtin_plugins", "pumice.plugins", "plugins.md"),
        ("builtin_actions", "pumice.actions", "actions.md"),
    ):
        project = tomllib.loads((DOCS.parent / folder / "pyproject.toml").read_text())
        text = (DOCS / page).read_text()
        names = project["project"]["entry-points"][group]
        assert not [name for name in names if f"\n## {name}\n" not in text]


CONTRIB = sorted(DOCS.parent.glob("contrib/*/pyproject.toml"))


@pytest.mark.parametrize("file", CONTRIB, ids=lambda file: file.parent.name)
def test_contrib_is_in_the_directory_and_can_be_found_in_an_index(file) -> None:
    project = tomllib.loads(file.read_text())["project"]
    assert f"| `{project['name']}` |" in (DOCS / "directory.md").read_text()
    assert_can_be_found(project)


def test_a_new_plugin_can_be_found_in_an_index(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert CliRunner().invoke(main, ["new", "plugin", "dawn"]).exit_code == 0
    file = tmp_path / "pumice-dawn" / "pyproject.toml"
    assert_can_be_found(tomllib.loads(file.read_text())["project"])


def assert_can_be_found(project: dict) -> None:
    assert "pumice-plugin" in project["keywords"]
    assert "Topic :: System :: Clustering" in project["classifiers"]
