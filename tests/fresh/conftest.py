"""Build the wheels once and install them where nothing else of Pumice can be seen.

A fresh environment starts empty. The third-party distributions that the wheels declare, and only
those, are linked into it file by file from the running environment; pip then installs the wheels
without an index and so proves that the declared dependencies and pins resolve. Nothing is
downloaded, and an undeclared dependency fails as it would for a user.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = [".", "framework", "builtin_plugins", "builtin_actions"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep these tests in one worker, so that the wheels are built once."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            if item.get_closest_marker("fresh"):
                item.add_marker(pytest.mark.xdist_group("fresh"))


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with neither PYTHONPATH nor Pumice settings of the caller, output captured."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "COLUMNS") and not name.startswith("PUMICE_")
    }
    return subprocess.run(
        [str(word) for word in command],
        env=inherited | environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def must(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, f"{' '.join(result.args)}\n{result.stdout}{result.stderr}"
    return result.stdout


def build(folders: Iterable[Path], into: Path) -> None:
    """Build wheels without an index; the build backend is the running environment's."""
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    must(run(*pip, "--wheel-dir", into, *folders, PUMICE_RELEASE="1"))


def declared(wheel: Path) -> list[Requirement]:
    """What a wheel requires on this machine, extras left out."""
    with ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", n))
        headers = HeaderParser().parsestr(archive.read(name).decode())
    return applicable(headers.get_all("Requires-Dist") or [])


def applicable(lines: Iterable[str], extras: Iterable[str] = ()) -> list[Requirement]:
    requirements = [Requirement(line) for line in lines]
    return [
        requirement
        for requirement in requirements
        if requirement.marker is None
        or any(requirement.marker.evaluate({"extra": extra}) for extra in ["", *extras])
    ]


def third_party(wheels: Iterable[Path]) -> list[metadata.Distribution]:
    """The installed distributions that the wheels need, each other's aside, all the way down."""
    wheels = list(wheels)
    ours = {canonicalize_name(wheel.name.split("-")[0]) for wheel in wheels}
    return closure([requirement for wheel in wheels for requirement in declared(wheel)], ours)


def closure(
    requirements: Iterable[Requirement], ours: Container[str] = ()
) -> list[metadata.Distribution]:
    """The installed distributions that meet requirements, and those that they require in turn."""
    open_ = list(requirements)
    found: dict[str, metadata.Distribution] = {}
    seen: set[str] = set()
    while open_:
        requirement = open_.pop()
        name = canonicalize_name(requirement.name)
        key = f"{name}[{','.join(sorted(requirement.extras))}]"
        if name in ours or key in seen:
            continue
        seen.add(key)
        found[name] = metadata.distribution(name)
        open_ += applicable(found[name].requires or [], requirement.extras)
    return list(found.values())


def transplant(distribution: metadata.Distribution, site: Path) -> None:
    """Hard-link (or copy) the files of an installed distribution into another site-packages.

    Links to files, never to folders: pip can replace or remove them without harm to the original.
    """
    assert distribution.files, f"{distribution.name} has no list of files"
    for file in distribution.files:
        if ".." in file.parts:  # console scripts and manual pages
            continue
        source, target = Path(str(file.locate())), site / file
        if not source.is_file():  # a .pyc that was never written
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            target.hardlink_to(source)
        except OSError:
            shutil.copy2(source, target)


@dataclass(frozen=True)
class FreshVenv:
    """A virtual environment with the wheels of the workspace in it."""

    folder: Path
    wheelhouse: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, command: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run one of the environment's own commands, whatever its exit status."""
        return run(self.folder / "bin" / command, *arguments)

    def output(self, command: str, *arguments: str | Path) -> str:
        """Run a command that must succeed and give its standard output."""
        return must(self.run(command, *arguments))

    def install(self, *what: str | Path) -> None:
        """Install by name from the wheelhouse, or a wheel file; never from an index."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet"]
        must(run(*pip, "--no-index", "--find-links", self.wheelhouse, *what))

    @contextmanager
    def holding(self, *wheels: Path) -> Iterator[None]:
        """Have these wheels installed for a while; afterwards the environment is as before."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "uninstall", "--quiet"]
        try:
            self.install(*wheels)
            yield
        finally:
            must(run(*pip, "--yes", *(wheel.name.split("-")[0] for wheel in wheels)))


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the release wheels of `pumice` and its parts."""
    folder = tmp_path_factory.mktemp("wheelhouse")
    build([ROOT / part for part in FOLDERS], folder)
    return folder


@pytest.fixture(scope="session")
def build_wheels(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., list[Path]]:
    """Build the distributions in some folders; gives their wheels in the same order."""

    def build_wheels(*folders: Path) -> list[Path]:
        into = tmp_path_factory.mktemp("built")
        build(folders, into)
        wheels = {canonicalize_name(wheel.name.split("-")[0]): wheel for wheel in into.iterdir()}
        return [wheels[_name(folder)] for folder in folders]

    return build_wheels


def _name(folder: Path) -> str:
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return canonicalize_name(project["name"])


@pytest.fixture(scope="session")
def home_of_pytest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with pytest and what it needs, to be put at the end of a module path."""
    folder = tmp_path_factory.mktemp("pytest")
    for distribution in closure([Requirement("pytest")]):
        transplant(distribution, folder)
    return folder


@pytest.fixture(scope="session")
def fresh_venv(wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> FreshVenv:
    """A new environment in which `pumice` was installed from its wheels.

    All tests have the same one: what else a test needs there it installs with ``holding``.
    """
    folder = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(folder, symlinks=True, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    for distribution in third_party(wheelhouse.glob("*.whl")):
        transplant(distribution, site)
    fresh = FreshVenv(folder, wheelhouse)
    fresh.install("pumice")
    return fresh
