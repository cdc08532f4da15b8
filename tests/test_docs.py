"""The reference pages say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
    import tomllib

    for folder, group, page in (
        ("builtin_plugins", "pumice.plugins", "plugins.md"),
        ("builtin_actions", "pumice.actions", "actions.md"),
    ):
        project = tomllib.loads((DOCS.parent / folder / "pyproject.toml").read_text())
        text = (DOCS / page).read_text()
        names = project["project"]["entry-points"][group]
        assert not [name for name in names if f"\n## {name}\n" not in text]
