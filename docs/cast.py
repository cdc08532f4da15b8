"""A terminal session as an animated SVG: commands are run, and what they print is drawn.

The lines appear one after another, once; readers who ask for less motion see all at once. The
fonts are the reader's own.
"""

from __future__ import annotations

import io
import os
import shlex
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from html import escape
from pathlib import Path
from unittest.mock import patch

from rich.style import Style
from rich.text import Text

from pumice.cli import main as pumice_command

EXAMPLES = Path(__file__).parent / "examples"
COLUMNS, _CELL, _LINE, _PAD, _BAR = 92, 8.43, 19, 18, 34
_COLOURS = {1: "#ff7b72", 2: "#7ee787", 3: "#e3b341", 4: "#79c0ff", 5: "#d2a8ff", 6: "#76e3ea"}
"""By their numbers in a terminal: red, green, yellow, blue, magenta, cyan."""
_STYLE = """
  text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace;
         fill: #e6edf3; white-space: pre; }
  .bold { font-weight: 700; }
  .soft { fill: #9198a1; }
  .prompt { fill: #ffa657; }
  .line { opacity: 0; animation: show 1ms linear forwards; }
  @keyframes show { to { opacity: 1; } }
  @media (prefers-reduced-motion: reduce) { .line { opacity: 1; animation: none; } }
  @media print { .line { opacity: 1; animation: none; } }
"""


class _Terminal(io.StringIO):
    """Takes what is printed as a terminal does, colours included."""

    def isatty(self) -> bool:
        return True


def printed(command: str) -> list[Text]:
    """What ``pumice …`` prints, line by line; ``| grep -A N WORD`` selects as grep does."""
    run, _, grep = command.partition(" | grep -A ")
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PUMICE_", "NO_COLOR"))}
    environment = {**kept, "COLUMNS": str(COLUMNS), "TERM": "xterm-256color", "TZ": "UTC"}
    terminal = _Terminal()
    with (
        chdir(EXAMPLES),
        patch.dict(os.environ, environment, clear=True),
        redirect_stdout(terminal),
    ):
        pumice_command.main(run.split()[1:], standalone_mode=False)
    lines = list(Text.from_ansi(terminal.getvalue().strip("\n")).split("\n", allow_blank=True))
    if grep:
        count, word = shlex.split(grep)
        first = next(n for n, line in enumerate(lines) if word in line.plain)
        lines = lines[first : first + int(count) + 1]
    return lines


def _spans(line: Text) -> Iterator[tuple[str, str, str]]:
    """Pieces of one style: words, classes, colour."""
    for piece in line.divide(sorted({end for span in line.spans for end in span[:2]})):
        style = sum((Style.parse(str(span.style)) for span in piece.spans), Style.null())
        words = " ".join(name for name, on in (("bold", style.bold), ("soft", style.dim)) if on)
        colour = _COLOURS.get(style.color.number or 0, "") if style.color else ""
        yield piece.plain, words, colour


def _drawn(line: Text) -> str:
    parts = []
    for plain, words, colour in _spans(line):
        kind = f' class="{words}"' if words else ""
        # A style attribute, since the colour of the sheet would precede a plain one.
        fill = f' style="fill:{colour}"' if colour else ""
        parts.append(
            f"<tspan{kind}{fill}>{escape(plain)}</tspan>" if kind or fill else escape(plain)
        )
    return "".join(parts)


def cast(title: str, commands: tuple[str, ...]) -> str:
    """The commands in a window, one below the other, with what each prints."""
    rows: list[tuple[float, str]] = []
    longest, at = COLUMNS, 0.4
    for command in commands:
        prompt = f'<tspan class="prompt">$</tspan> <tspan class="bold">{escape(command)}</tspan>'
        rows.append((at, prompt))
        at += 1.2
        for line in printed(command):
            rows.append((at, _drawn(line)))
            longest = max(longest, len(line))
            at += 0.12
        rows.append((at, ""))
        at += 1.5
    width, height = round(longest * _CELL + 2 * _PAD), _BAR + 2 * _PAD + _LINE * (len(rows) - 1)
    body = [
        f'<text class="line" style="animation-delay:{when:.2f}s" x="{_PAD}"'
        f' y="{_BAR + _PAD + _LINE * number}" xml:space="preserve">{drawn}</text>'
        for number, (when, drawn) in enumerate(rows)
        if drawn
    ]
    dots = [
        f'<circle cx="{20 + 20 * number}" cy="17" r="6" fill="{colour}"/>'
        for number, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
            f' width="{width}" height="{height}" role="img" aria-label="{escape(title)}">',
            "<!-- drawn by docs/generate.py: what the commands print now -->",
            f"<style>{_STYLE}</style>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>',
            *dots,
            *body,
            "</svg>",
            "",
        ]
    )


def landing() -> str:
    """A cycle of the demo cluster, and why one of its jobs waits."""
    demo = "demo -c demo/policy.toml"
    return cast(
        "A cycle of the example cluster, and what would let the waiting job run",
        (f"pumice run {demo}", f"pumice explain research/ablation {demo} | grep -A 3 'It would'"),
    )
