"""The distributions of this repository: where they lie, what they are called, what must agree."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).resolve().parents[2]
TOGETHER = (".", "framework", "builtin_plugins", "builtin_actions")
"""The folders of the distributions that are released together, under one version."""
CHANGELOG = "docs/changelog.md"


@dataclass(frozen=True, slots=True)
class Distribution:
    """One distribution, as its ``pyproject.toml`` says."""

    folder: Path
    name: str
    version: str
    dependencies: tuple[str, ...]
    changelog: Path

    @property
    def stem(self) -> str:
        """The begin of its files' names."""
        return f"{self.name.replace('-', '_')}-{self.version}"

    @property
    def wheel(self) -> str:
        """The name of its wheel."""
        return f"{self.stem}-py3-none-any.whl"


def distributions(root: Path = ROOT) -> list[Distribution]:
    """All of them: those that are released together first."""
    contrib = sorted(path.parent for path in root.glob("contrib/*/pyproject.toml"))
    folders = [*(root / folder for folder in TOGETHER), *contrib]
    found = []
    for folder in folders:
        project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
        own = folder / "CHANGELOG.md"
        found.append(
            Distribution(
                folder,
                project["name"],
                project["version"],
                tuple(project.get("dependencies", ())),
                own if folder in contrib else root / CHANGELOG,
            )
        )
    return found


def disagreements(found: list[Distribution], root: Path = ROOT) -> list[str]:
    """What contradicts what: versions, requirements among each other, changelogs."""
    texts = []
    by_name = {one.name: one for one in found}
    version = found[0].version
    for one in found[: len(TOGETHER)]:
        if one.version != version:
            texts.append(f"{one.name} is {one.version}, but {found[0].name} is {version}")
    stated = re.search(
        r'^__version__ = "(.+)"$', (root / "framework/pumice/__init__.py").read_text("utf-8"), re.M
    )
    if stated is None or stated[1] != version:
        said = stated[1] if stated else "nothing"
        texts.append(f"pumice.__version__ says {said}, but the version is {version}")
    for one in found:
        for line in one.dependencies:
            match = re.fullmatch(r"([a-z0-9-]+)(.*)", line.replace(" ", ""))
            other = by_name.get(match[1]) if match else None
            if match and other is not None and not admits(match[2], other.version):
                texts.append(f"{one.name} requires {line}, but that is {other.version} here")
        if not one.changelog.is_file():
            texts.append(f"{one.name} has no {one.changelog.relative_to(root)}")
        elif not has_section(one.changelog.read_text("utf-8"), one.version):
            texts.append(f"{one.changelog.relative_to(root)} has no section for {one.version}")
    return texts


def admits(specifier: str, version: str) -> bool:
    """Whether a requirement admits a version."""
    return SpecifierSet(specifier).contains(version, prereleases=True)


def has_section(changelog: str, version: str) -> bool:
    """Whether a changelog tells of a version, released or not."""
    return re.search(rf"^## (Unreleased: )?{re.escape(version)}\b", changelog, re.M) is not None
