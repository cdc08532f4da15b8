"""The terminal: single keys in, a full screen of lines out."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

from pumice.errors import PumiceError

_SEQUENCES = {
    "\x1b[A": "up",
    "\x1b[B": "down",
    "\x1bOA": "up",
    "\x1bOB": "down",
    "\x1b[5~": "pageup",
    "\x1b[6~": "pagedown",
    "\x1b[H": "home",
    "\x1b[F": "end",
    "\x1b[1~": "home",
    "\x1b[4~": "end",
    "\x1bOH": "home",
    "\x1bOF": "end",
    "\x1b": "escape",
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\b": "backspace",
}
_BEGIN = "\x1b[?1049h\x1b[?25l\x1b[?7l"
"""The alternate screen, no cursor, no wrapping of lines."""
_END = "\x1b[?7h\x1b[?25h\x1b[?1049l"


def is_interactive() -> bool:
    """Whether a page can be drawn and keys can be read."""
    both = sys.stdin.isatty() and sys.stdout.isatty()
    return both and os.environ.get("TERM") != "dumb"


class Terminal:
    """The terminal of this process."""

    def __init__(self, source: TextIO | None = None, target: TextIO | None = None) -> None:
        self._in = (source or sys.stdin).fileno()
        self._out = target or sys.stdout

    @contextmanager
    def opened(self) -> Iterator[None]:
        """Keys come at once and are not echoed; afterwards all is as before.

        :raises PumiceError: the system has no terminals that can do this.
        """
        try:
            import termios
            import tty
        except ImportError:
            raise PumiceError(
                "this system has no terminal that gives single keys",
                hint="'pumice top --once' prints one page",
            ) from None
        before = termios.tcgetattr(self._in)
        try:
            tty.setcbreak(self._in)
            self._write(_BEGIN)
            yield
        finally:
            self._write(_END)
            termios.tcsetattr(self._in, termios.TCSADRAIN, before)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        size = os.get_terminal_size(self._out.fileno())
        return size.columns, size.lines

    def draw(self, lines: Sequence[str]) -> None:
        """Fill the screen with these lines."""
        # Erased first: after a full line the cursor stands on its last character.
        self._write("\x1b[H" + "\n".join(f"\x1b[K{line}" for line in lines))

    def keys(self, seconds: float) -> list[str]:
        """The keys that are pressed within so many seconds.

        :raises EOFError: the terminal is gone.
        """
        if not select.select([self._in], [], [], seconds)[0]:
            return []
        data = os.read(self._in, 1024)
        if not data:
            raise EOFError
        return list(read_keys(data.decode(errors="ignore")))

    def _write(self, text: str) -> None:
        self._out.write(text)
        self._out.flush()


def read_keys(text: str) -> Iterator[str]:
    """The keys that a terminal sends as this text; unknown sequences are left out."""
    while text:
        sequence = next((s for s in _SEQUENCES if len(s) > 1 and text.startswith(s)), text[0])
        if sequence == "\x1b" and text[1:2] in ("[", "O"):
            # An unknown sequence ends with a letter or a tilde.
            end = next((n for n, c in enumerate(text[2:], 3) if c.isalpha() or c == "~"), len(text))
            text = text[end:]
            continue
        text = text[len(sequence) :]
        yield _SEQUENCES.get(sequence, sequence)
