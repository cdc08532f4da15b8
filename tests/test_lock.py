"""What CI and the release check install is pinned, each with hashes."""

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NAME = r"[A-Za-z0-9._-]+"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def dependencies(part: Path) -> list[str]:
    return tomllib.loads((part / "pyproject.toml").read_text())["project"]["dependencies"]


def pinned_in(file: str) -> dict[str, str]:
    """The lines of each distribution that a file pins."""
    parts = re.split(r"\n(?=\S)", (ROOT / file).read_text())[1:]
    return {normal(re.match(rf"({NAME})(\[.*\])?==", part)[1]): part for part in parts}


@pytest.mark.parametrize("file", ["requirements.lock", "requirements-release.txt"])
def test_every_pin_has_hashes(file):
    pinned = pinned_in(file)
    assert pinned
    assert [name for name, part in pinned.items() if "--hash=sha256:" not in part] == []


def test_everything_required_is_pinned():
    pinned = pinned_in("requirements.lock")
    parts = [ROOT / "framework", *(path.parent for path in ROOT.glob("contrib/*/pyproject.toml"))]
    lines = [
        *(line for part in parts for line in dependencies(part) if not line.startswith("pumice")),
        *(ROOT / "requirements-dev.txt").read_text().splitlines(),
    ]
    names = {normal(re.match(NAME, line)[0]) for line in lines if not line.startswith("#")}
    assert names - pinned.keys() == set()
