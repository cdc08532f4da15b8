"""A pumice command on a pseudo terminal."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from typing import Any

import click

SECONDS = 60


class Program:
    """Runs a command whose standard input and output are a terminal of a given size."""

    def __init__(self, words: list[str], columns: int, lines: int, *, cwd: Any, **env: str) -> None:
        self._main, self._other = pty.openpty()
        self.resize(columns, lines)
        self.before = self.attributes()
        self.output = ""
        drop = ("NO_COLOR", "TERM", "COLUMNS", "LINES")
        base = {name: value for name, value in os.environ.items() if name not in drop}
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from pumice.cli import main; main()", *words],
            stdin=self._other,
            stdout=self._other,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=base | env,
        )

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.communicate()
        os.close(self._main)
        os.close(self._other)

    def resize(self, columns: int, lines: int) -> None:
        """Give the terminal another size."""
        fcntl.ioctl(self._other, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def attributes(self) -> list[Any]:
        """The settings of the terminal."""
        return termios.tcgetattr(self._other)

    def send(self, text: str) -> None:
        """Press keys."""
        os.write(self._main, text.encode())

    def page(self) -> list[str]:
        """The lines of the last page that was drawn."""
        last = self.output.rpartition("\x1b[H")[2]
        return [click.unstyle(line).replace("\x1b[K", "") for line in last.split("\r\n")]

    def wait_for(self, text: str, shows: Callable[[list[str]], bool] | None = None) -> list[str]:
        """The page as soon as it has this text, or ``shows`` is true of it."""
        shows = shows or (lambda page: any(text in line for line in page))
        end = time.monotonic() + SECONDS
        while not shows(self.page()):
            assert time.monotonic() < end, f"no {text!r} in\n" + "\n".join(self.page())
            self._read()
        return self.page()

    def wait(self) -> int:
        """The exit status."""
        end = time.monotonic() + SECONDS
        while self._process.poll() is None and time.monotonic() < end:
            self._read()
        self._read()
        return self._process.wait(SECONDS)

    def _read(self) -> None:
        while select.select([self._main], [], [], 0.05)[0]:
            self.output += os.read(self._main, 65536).decode(errors="replace")
