"""The reference pages say what the code says."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from pumice.hookspecs import POINTS

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date(generator: ModuleType) -> None:
    stale = [
        path.name
        for path, text in generator.pages().items()
        if not path.exists() or path.read_text() != text
    ]
    assert not stale, f"run `python docs/generate.py`: {stale} say something else than the code"


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
