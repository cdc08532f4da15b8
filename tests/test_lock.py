"""The lock file of CI has all that is required, each with hashes."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAME = r"[A-Za-z0-9._-]+"


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def dependencies(part: Path) -> list[str]:
    return tomllib.loads((part / "pyproject.toml").read_text())["project"]["dependencies"]


def test_everything_required_is_pinned_with_hashes():
    locked = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text())[1:]
    pinned = {normal(re.match(rf"({NAME})(\[.*\])?==", part)[1]): part for part in locked}
    assert all("--hash=sha256:" in part for part in pinned.values())
    parts = [ROOT / "framework", *(path.parent for path in ROOT.glob("contrib/*/pyproject.toml"))]
    lines = [
        *(line for part in parts for line in dependencies(part) if not line.startswith("pumice")),
        *(ROOT / "requirements-dev.txt").read_text().splitlines(),
    ]
    names = {normal(re.match(NAME, line)[0]) for line in lines if not line.startswith("#")}
    assert names - pinned.keys() == set()
