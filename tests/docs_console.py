"""The commands of the pages: found, run, and their output compared.

``console`` blocks have commands after ``$ `` and what each prints; ``…`` stands for any text in a
line, or, alone in a line, for any lines. ``sh`` blocks have commands only, which must succeed. A
block that follows a line with nothing but a file name in backquotes is that file's content.
``python -m tests.docs_console docs/PAGE.md…`` writes into console blocks what is printed now.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from click.testing import CliRunner

from pumice.cli import main as pumice_command

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = "88"  # what a page shows without scrolling
ANY = "…"

_BLOCK = re.compile(
    r"(?:^`(?P<name>[\w.-]+)`\n\n)?^```(?P<language>[\w-]*)[^\n]*\n(?P<body>.*?)^```$", re.M | re.S
)
_PLAIN = re.compile(r"pumice [^|&;<>$*()]*")
"""A command that needs no shell."""
_PIP = """#!/usr/bin/env bash
# pip without an index: what is installed is seen by PYTHONPATH, nothing else changes.
set -euo pipefail
if [ "$1" = uninstall ]; then rm -rf "$PYTHONPATH"/*; exit 0; fi
here="${{!#}}"
"{python}" -m pip --disable-pip-version-check install --quiet --no-index --no-deps \\
    --no-build-isolation --target "$PYTHONPATH" "${{here%%\\[*}}"
"""


class Block(NamedTuple):
    language: str
    name: str
    """The file that the block is the content of, or nothing."""
    body: str
    start: int
    """Where the body begins in the page."""
    line: int


class Step(NamedTuple):
    command: str
    output: str


def blocks(text: str) -> list[Block]:
    return [
        Block(
            found["language"],
            found["name"] or "",
            found["body"],
            found.start("body"),
            text.count("\n", 0, found.start("body")),
        )
        for found in _BLOCK.finditer(text)
    ]


def steps(body: str) -> list[Step]:
    """The commands of a console block, each with what follows it."""
    parts = re.split(r"^\$ ", re.sub(r"\\\n\s*", "", body), flags=re.M)
    if parts[0].strip():
        raise ValueError(f"a console block begins with a command: {parts[0]!r}")
    return [Step(command, output) for command, _, output in (p.partition("\n") for p in parts[1:])]


def shell_lines(body: str) -> list[str]:
    """The commands of a sh block."""
    joined = re.sub(r"\\\n\s*", "", body)
    commands = (re.sub(r"\s+#\s.*", "", line).strip() for line in joined.splitlines())
    return [command for command in commands if command and not command.startswith("#")]


def matches(expected: str, printed: str) -> bool:
    lines = [re.escape(line).replace(ANY, "[^\n]*") for line in _trimmed(expected)]
    pattern = "".join("(?:[^\n]*\n)*" if line == "[^\n]*" else f"{line}\n" for line in lines)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in _trimmed(printed))) is not None


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip("\n").splitlines()]


class Shell:
    """A folder in which the commands of a page find the examples."""

    def __init__(self, folder: Path, *, path: Path | None = None) -> None:
        self.folder = folder
        self._current = folder
        self._bin = folder / ".bin"
        self._site = folder / ".site"
        completions = folder / ".config" / "fish" / "completions"
        for made in (self._bin, self._site, completions):
            made.mkdir(parents=True)
        for name in ("docs", "contrib"):
            (folder / name).symlink_to(ROOT / name)
        for file in sorted((ROOT / "docs" / "examples" / "commands").iterdir()):
            shutil.copy(file, folder / file.name)
        if path is None:
            pip = self._bin / "pip"
            pip.write_text(_PIP.format(python=sys.executable))
            pip.chmod(0o755)
        # Where no other environment is asked for, plain commands need no process of their own.
        self._in_process = path is None
        found = [self._bin, path or Path(sys.executable).parent, os.environ["PATH"]]
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PUMICE_")}
        inherited.pop("PYTHONPATH", None)
        self._environment = inherited | {
            "PATH": os.pathsep.join(str(part) for part in found),
            "COLUMNS": COLUMNS,
            "HOME": str(folder),
            "NO_COLOR": "1",
            "TZ": "UTC",
            **({"PYTHONPATH": str(self._site)} if path is None else {}),
        }

    def write(self, block: Block) -> None:
        (self.folder / block.name).write_text(block.body, encoding="utf-8")

    def run(self, command: str) -> tuple[int, str]:
        """The exit status, and what is printed on either stream; ``cd`` lasts."""
        if command.startswith("cd "):
            self._current = self.folder / command[3:].strip()
            return int(not self._current.is_dir()), ""
        if self._in_process and _PLAIN.fullmatch(command) and not any(self._site.iterdir()):
            return self._invoke(shlex.split(command)[1:])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._current,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=3600,
            check=False,
        )
        return done.returncode, done.stdout

    def _invoke(self, arguments: list[str]) -> tuple[int, str]:
        unset = dict.fromkeys(name for name in os.environ if name not in self._environment)
        with chdir(self._current):
            result = CliRunner(env={**unset, **self._environment}).invoke(pumice_command, arguments)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.output


def written_anew(text: str, shell: Shell) -> str:
    """The page with what its console blocks print now, where that differs."""
    made = text
    for block, new in [*_renewed(text, shell)][::-1]:
        made = made[: block.start] + new + made[block.start + len(block.body) :]
    return made


def _renewed(text: str, shell: Shell) -> Iterator[tuple[Block, str]]:
    for block in blocks(text):
        if block.name:
            shell.write(block)
        elif block.language == "console":
            new = ""
            heads = re.findall(r"^\$ (?:.*\\\n)*.*\n", block.body, flags=re.M)
            for head, step in zip(heads, steps(block.body), strict=True):
                _, printed = shell.run(step.command)
                same = matches(step.output, printed)
                lines = "".join(f"{line}\n" for line in _trimmed(printed))
                new += head + (step.output if same else lines)
            yield block, new


def main() -> None:
    for name in sys.argv[1:]:
        page = Path(name)
        with TemporaryDirectory() as folder:
            text = page.read_text(encoding="utf-8")
            page.write_text(written_anew(text, Shell(Path(folder))), encoding="utf-8")


if __name__ == "__main__":
    main()
