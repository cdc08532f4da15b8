"""Every command of the tutorial works, in order, in a fresh environment without network."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = [pytest.mark.fresh, pytest.mark.long]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
FILE = re.compile(r"^`([\w.-]+)`\n\n```\w+\n(.*?)^```", re.M | re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.M | re.S)


def steps() -> list[tuple[str, str]]:
    """The files to write and the console blocks to go through, in the order of the page."""
    text = PAGE.read_text(encoding="utf-8")
    found = [(m.start(), m.group(1), m.group(2)) for m in FILE.finditer(text)]
    found += [(m.start(), "", m.group(1)) for m in CONSOLE.finditer(text)]
    return [(name, body) for _, name, body in sorted(found)]


def test_the_tutorial(fresh_venv, build_wheels, tmp_path):
    def shell(command: str) -> str:
        path = f"{fresh_venv.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in ("PYTHONPATH", "COLUMNS") and not name.startswith("PUMICE_")
        }
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tmp_path,
            env=environment | {"PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
        return " ".join((done.stdout + done.stderr).split())

    ran = 0
    held = None
    for name, body in steps():
        if name:
            (tmp_path / name).write_text(body, encoding="utf-8")
            continue
        told = ""
        for line in body.splitlines():
            if not line.startswith("$ "):
                assert " ".join(line.split()) in told, f"{line!r} was not printed:\n{told}"
                continue
            command = line.removeprefix("$ ")
            ran += 1
            # pip has no index here: the same wheel is built and installed without one.
            if command.startswith("pip install"):
                held = fresh_venv.holding(*build_wheels(tmp_path / command.split("/")[-1]))
                held.__enter__()
            elif command.startswith("pip uninstall"):
                assert held is not None
                held.__exit__(None, None, None)
            else:
                told = shell(command)
    assert ran >= 10
