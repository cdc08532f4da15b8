"""The distributions agree before a release, and what does not agree is named."""

import shutil
from pathlib import Path

import pytest

from tests.release._distributions import ROOT, TOGETHER, disagreements, distributions, has_section


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the files in which versions stand."""
    files = [ROOT / folder / "pyproject.toml" for folder in TOGETHER]
    files += [*ROOT.glob("contrib/*/pyproject.toml"), *ROOT.glob("contrib/*/CHANGELOG.md")]
    files += [ROOT / "docs/changelog.md", ROOT / "framework/pumice/__init__.py"]
    for file in files:
        target = tmp_path / file.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return tmp_path


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_the_distributions_of_this_repository_agree():
    found = distributions()
    assert len(found) > len(TOGETHER)
    assert disagreements(found) == []


def test_another_version_of_one_part_is_named(tree):
    version = distributions(tree)[0].version
    change(tree / "builtin_actions/pyproject.toml", f'version = "{version}"', 'version = "9.9"')
    texts = disagreements(distributions(tree), tree)
    assert f"pumice-builtin-actions is 9.9, but pumice is {version}" in texts
    assert "docs/changelog.md has no section for 9.9" in texts


def test_another_version_in_the_code_is_named(tree):
    version = distributions(tree)[0].version
    change(tree / "framework/pumice/__init__.py", f'__version__ = "{version}"', '__version__ = "7"')
    texts = disagreements(distributions(tree), tree)
    assert texts == [f"pumice.__version__ says 7, but the version is {version}"]


def test_a_requirement_that_excludes_the_framework_is_named(tree):
    change(
        tree / "contrib/fifo/pyproject.toml", "pumice-framework>=0.2,<0.3", "pumice-framework<0.2"
    )
    (text,) = disagreements(distributions(tree), tree)
    assert text.startswith("pumice-fifo requires pumice-framework<0.2, but that is ")


def test_a_missing_changelog_is_named(tree):
    (tree / "contrib/drain/CHANGELOG.md").unlink()
    assert disagreements(distributions(tree), tree) == [
        "pumice-drain has no contrib/drain/CHANGELOG.md"
    ]


@pytest.mark.parametrize(
    "heading, found",
    [
        ("## 0.2.0", True),
        ("## 0.2.0 (2026-03-01)", True),
        ("## Unreleased: 0.2.0", True),
        ("### 0.2.0", False),
        ("## 0.2.01", False),
        ("## 0.1.0", False),
    ],
)
def test_the_section_of_a_version(heading, found):
    assert has_section(f"# Changelog\n\n{heading}\n\n- A change.\n", "0.2.0") is found
