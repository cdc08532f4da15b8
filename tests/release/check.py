"""Check that the distributions can be published: ``make release-check``.

Versions and changelogs agree; wheels and sdists are built twice, in different folders, and have the
same bytes; twine accepts them; on every supported Python that can be found they are installed into
an empty environment, without an index for our own distributions, and a smoke test passes.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.release._distributions import (
    ROOT,
    Distribution,
    disagreements,
    distributions,
)

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
DEMO = ROOT / "docs/examples/demo"
SMOKE = (
    ("pumice", "--version"),
    ("pumice", "doctor"),
    ("pumice", "run", str(DEMO), "-c", str(DEMO / "policy.toml"), "--cycles", "2", "--check"),
    ("pumice", "run", str(DEMO), "--preset", "kai", "-o", "json"),
    ("pumice", "explain", "research/ablation", str(DEMO), "--budget", "0"),
    ("pumice", "top", str(DEMO), "--once"),
    ("pumice", "plugins", "fgd"),
    ("pumice", "actions", "drain"),
    ("pumice", "test", str(ROOT / "tests/scenarios/plugins/gang")),
    ("pumice-fragmentation", "--help"),
    ("python", "-c", "import pumice_kubernetes.backend"),
)
"""Commands of the environment that must succeed."""


class CheckError(Exception):
    """Something must be mended before a release."""


def main() -> int:
    """Run all checks; the exit status."""
    found = distributions()
    try:
        _report("versions and changelogs", disagreements(found))
        print(f"versions and changelogs agree: {', '.join(f'{d.name} {d.version}' for d in found)}")
        dist = ROOT / "dist"
        files = build_twice(found, dist)
        run(sys.executable, "-m", "twine", "check", "--strict", *map(str, files))
        print(f"twine: {len(files)} files pass")
        checked = [version for version in PYTHONS if install_and_try(version, found, dist)]
    except CheckError as error:
        print(f"release-check: {error}", file=sys.stderr)
        return 1
    if not checked:
        print("release-check: no supported Python was found", file=sys.stderr)
        return 1
    left_out = [version for version in PYTHONS if version not in checked]
    also = f"; not tried: {', '.join(left_out)}" if left_out else ""
    print(f"release-check: passed on Python {', '.join(checked)}{also}")
    return 0


def build_twice(found: Sequence[Distribution], dist: Path) -> list[Path]:
    """Build into ``dist``, and again elsewhere; the files, once they are equal."""
    shutil.rmtree(dist, ignore_errors=True)
    epoch = _output("git", "-C", str(ROOT), "log", "-1", "--format=%ct") or "1700000000"
    with tempfile.TemporaryDirectory() as folder:
        trees = [Path(folder, "first"), Path(folder, "second", "deeper")]
        targets = [dist, Path(folder, "dist")]
        for tree, target, mask in zip(trees, targets, (0o022, 0o077), strict=True):
            before = os.umask(mask)  # it must not show in the archives
            try:
                copy_sources(tree)
                build(found, tree, target, epoch)
            finally:
                os.umask(before)
        sums = [_sums(target) for target in targets]
    wanted = {f"{one.stem}.tar.gz" for one in found}
    wanted |= {one.wheel for one in found}
    _report("files", [f"{name} was not built" for name in sorted(wanted - sums[0].keys())])
    names = sorted(sums[0].keys() | sums[1].keys())
    differing = [name for name in names if sums[0].get(name) != sums[1].get(name)]
    _report("two builds", [f"{name} differs" for name in differing])
    print(f"built twice, the same bytes: {len(names)} files (SOURCE_DATE_EPOCH={epoch})")
    return sorted(dist.iterdir())


def copy_sources(tree: Path) -> None:
    """Copy what git knows or would add, so that nothing that lies about is shipped."""
    listed = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    for name in _output("git", "-C", str(ROOT), *listed).split("\0"):
        if name and (ROOT / name).is_file():
            target = tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)


def build(found: Sequence[Distribution], tree: Path, target: Path, epoch: str) -> None:
    """The sdist of each, and the wheel from its sdist."""
    environment = {"SOURCE_DATE_EPOCH": epoch, "PUMICE_RELEASE": "1"}
    for one in found:
        folder = tree / one.folder.relative_to(ROOT)
        words = ("-m", "build", "--no-isolation", "--outdir", str(target), str(folder))
        run(sys.executable, *words, **environment)


def install_and_try(version: str, found: Sequence[Distribution], dist: Path) -> bool:
    """Install everything on one Python and run the smoke test; False: there is no such Python."""
    python = find_python(version)
    if python is None:
        print(f"Python {version}: skipped, there is none here and uv cannot bring it")
        return False
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "venv")
        uv("venv", "--quiet", "--python", python, str(place))
        into = ("pip", "install", "--quiet", "--python", str(place / "bin/python"))
        uv(*into, *third_party(found, dist))
        ours = [f"{one.name}=={one.version}" for one in found]
        # uv's cache knows a wheel by name and version: it would install that of an earlier build.
        uv(*into, "--no-cache", "--no-index", "--find-links", str(dist), *ours)
        (site,) = place.glob("lib/python*/site-packages")
        for one in found:
            _report(f"installed {one.name}", differences(dist / one.wheel, site))
        uv("pip", "check", "--quiet", "--python", str(place / "bin/python"))
        for name, *words in SMOKE:
            run(str(place / "bin" / name), *words, cwd=folder)
    print(f"Python {version}: installed from dist/, {len(SMOKE)} commands pass ({python})")
    return True


def differences(wheel: Path, site: Path) -> list[str]:
    """The files of a wheel that were not installed as they are in it."""
    texts = []
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            # The installer adds its own files to the list.
            if name.endswith((".dist-info/RECORD", "/")):
                continue
            installed = site / name
            if not installed.is_file():
                texts.append(f"{name} is missing")
            elif installed.read_bytes() != archive.read(name):
                texts.append(f"{name} is not that of {wheel.name}")
    return texts


def find_python(version: str) -> str | None:
    """An interpreter of this version: from here, from pyenv, or brought by uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    installed = sorted(pyenv.glob(f"{version}.*/bin/python{version}"))
    for candidate in (shutil.which(f"python{version}"), *map(str, reversed(installed))):
        # A shim of pyenv may be there without the version behind it.
        if candidate and _output(candidate, "-c", "print('ok')") == "ok":
            return candidate
    if _output(_uv(), "python", "find", "--no-project", version):
        return version
    fetched = subprocess.run([_uv(), "python", "install", version], capture_output=True)
    return version if fetched.returncode == 0 else None


def third_party(found: Sequence[Distribution], dist: Path) -> list[str]:
    """What the wheels require of others."""
    ours = {one.name for one in found}
    needed: set[str] = set()
    for one in found:
        with ZipFile(dist / one.wheel) as wheel:
            text = wheel.read(f"{one.stem}.dist-info/METADATA").decode()
        head = text.partition("\n\n")[0].splitlines()
        lines = [line[15:] for line in head if line.startswith("Requires-Dist: ")]
        needed |= {line for line in lines if "extra ==" not in line}
    return sorted(line for line in needed if not any(line.startswith(name) for name in ours))


def uv(*words: str) -> None:
    """Run uv."""
    run(_uv(), *words)


def run(*words: str, cwd: str | None = None, **environment: str) -> None:
    """Run a command that must succeed; what it prints is shown only if it does not."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        words, cwd=cwd, env=inherited | environment, stdin=subprocess.DEVNULL, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    if done.returncode:
        raise CheckError(f"{' '.join(words)}\n{done.stdout}")


def _uv() -> str:
    return str(Path(sys.executable).parent / "uv")


def _output(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _sums(folder: Path) -> dict[str, str]:
    files = [file for file in folder.iterdir() if file.name != ".gitignore"]
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def _report(what: str, problems: Sequence[str]) -> None:
    if problems:
        raise CheckError(f"{what}:\n" + "\n".join(f"  {text}" for text in problems))


if __name__ == "__main__":
    sys.exit(main())
