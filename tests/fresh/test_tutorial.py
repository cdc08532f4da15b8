"""Every command of the tutorial works, in order, in a fresh environment without network."""

import pytest

from tests.docs_console import ROOT, Shell, blocks, matches, steps

pytestmark = [pytest.mark.fresh, pytest.mark.long]

PAGE = ROOT / "docs" / "tutorial.md"


def test_the_tutorial(fresh_venv, build_wheels, tmp_path):
    shell = Shell(tmp_path, path=fresh_venv.folder / "bin")
    ran = 0
    held = None
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if block.name:
            shell.write(block)
        if block.language != "console":
            continue
        for command, expected in steps(block.body):
            ran += 1
            # pip has no index here: the same wheel is built and installed without one.
            if command.startswith("pip install"):
                held = fresh_venv.holding(*build_wheels(tmp_path / command.split("/")[-1]))
                held.__enter__()
            elif command.startswith("pip uninstall"):
                assert held is not None
                held.__exit__(None, None, None)
            else:
                status, printed = shell.run(command)
                assert status == 0, f"$ {command}\n{printed}"
                assert matches(expected, printed), f"$ {command}\n{printed}"
    assert ran >= 10
