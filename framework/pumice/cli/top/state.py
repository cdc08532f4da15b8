"""What the keys change: pane, selection, filter, resource, pause, and the text over the panes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pumice.cli.top.panes import NAMES

Wish = Literal["quit", "step", "explain"]
"""What a key asks for that is not a change of the page."""

HELP = """\
Keys

  q, Ctrl-C       quit
  space, p        pause and go on
  n               run one more cycle while paused
  tab, 1 2 3      switch to the next pane; to queues, nodes, jobs
  up, down, j, k  select a row; also page up, page down, home, end
  enter           explain the selected job, queue or node
  /               filter the rows of the pane: all words must occur in a row
  esc             close this text, or drop the filter
  r               show the next resource
"""


@dataclass(slots=True)
class Position:
    """The selected row of a pane; the row stays selected when others come and go."""

    key: str = ""
    row: int = 0
    filter: str = ""

    def find(self, keys: Sequence[str]) -> int:
        """The number of the selected row; -1: there are no rows."""
        if self.key in keys[self.row : self.row + 1]:
            return self.row
        if self.key in keys:
            self.row = keys.index(self.key)
        self.row = max(0, min(self.row, len(keys) - 1))
        return self.row if keys else -1

    def move(self, keys: Sequence[str], by: int) -> None:
        """Select another row."""
        self.row = max(0, min(self.find(keys) + by, len(keys) - 1))
        self.key = keys[self.row] if keys else ""


@dataclass(slots=True)
class State:
    """The page as far as the user decides on it."""

    pane: str = "jobs"
    resource: str = ""
    """Empty: what the cluster suggests."""
    paused: bool = False
    typing: str | None = None
    """The filter while it is being typed."""
    text: str = ""
    """What covers the panes."""
    scroll: int = 0
    positions: dict[str, Position] = field(
        default_factory=lambda: {name: Position() for name in NAMES}
    )

    @property
    def position(self) -> Position:
        """That of the current pane."""
        return self.positions[self.pane]

    def show(self, text: str) -> None:
        """Cover the panes with a text."""
        self.text, self.scroll = text, 0

    def press(
        self, key: str, keys: Sequence[str], resources: Sequence[str], page: int
    ) -> Wish | None:
        """Take a key; ``keys`` are the rows of the current pane, ``page`` is its height."""
        if self.typing is not None:
            self._type(key)
            return None
        moves = {"up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "pagedown": page}
        moves |= {"home": -(10**9), "end": 10**9}
        if key in moves:
            if self.text:
                self.scroll = max(0, self.scroll + moves[key])
            else:
                self.position.move(keys, moves[key])
        elif key == "q" and self.text:
            self.show("")
        elif key == "q":
            return "quit"
        elif key == "escape":
            if self.text:
                self.show("")
            else:
                self.position.filter = ""
        elif key in (" ", "p"):
            self.paused = not self.paused
        elif key == "n":
            return "step"
        elif key == "enter" and keys and not self.text:
            self.position.move(keys, 0)
            return "explain"
        elif key in ("?", "h"):
            self.show(HELP)
        elif not self.text:
            self._switch(key, resources)
        return None

    def _switch(self, key: str, resources: Sequence[str]) -> None:
        if key == "tab":
            self.pane = NAMES[(NAMES.index(self.pane) + 1) % len(NAMES)]
        elif key in ("1", "2", "3"):
            self.pane = NAMES[int(key) - 1]
        elif key == "/":
            self.typing = self.position.filter
        elif key == "r" and resources:
            at = resources.index(self.resource) if self.resource in resources else -1
            self.resource = resources[(at + 1) % len(resources)]

    def _type(self, key: str) -> None:
        assert self.typing is not None
        if key == "enter":
            self.position.filter, self.typing = self.typing.strip(), None
        elif key == "escape":
            self.typing = None
        elif key == "backspace":
            self.typing = self.typing[:-1]
        elif len(key) == 1 and key.isprintable():
            self.typing += key
