"""The loop of the page: keys in, lines out, while cycles are decided beside it."""

from __future__ import annotations

import threading
from typing import Protocol

from pumice.cli.top.cycles import Cycles, Finished
from pumice.cli.top.page import Content, Page, resource_of
from pumice.cli.top.state import State

_EVERY = 0.1
"""Seconds between two looks at the cycles."""


class Screen(Protocol):
    """What draws lines and gives keys."""

    def size(self) -> tuple[int, int]: ...

    def draw(self, lines: list[str]) -> None: ...

    def keys(self, seconds: float) -> list[str]: ...


class App:
    """The page of ``pumice top``."""

    def __init__(self, title: str, cycles: Cycles, screen: Screen, *, colour: bool = True) -> None:
        self.state = State()
        self.notice = ""
        """The last warning."""
        self._title, self._cycles, self._screen, self._colour = title, cycles, screen, colour
        self._page = Page()
        self._asked: tuple[str, str] | None = None
        self._answer = ""
        self._drawn: tuple[object, ...] = ()

    def run(self) -> None:
        """Draw until the user quits, or the thread of the cycles fails."""
        while self._cycles.error is None:
            self._show_answer()
            self._draw()
            try:
                keys = self._screen.keys(_EVERY)
            except (EOFError, OSError):  # the terminal is gone
                return
            if keys:
                self._drawn = ()
            if any(self._press(key) == "quit" for key in keys):
                return
        raise self._cycles.error

    def _draw(self) -> None:
        size, cycles = self._screen.size(), self._cycles
        wanted = (size, cycles.last, cycles.ended.is_set(), self.notice)
        if wanted != self._drawn:
            content = self._content()
            self._screen.draw(self._page.lines(self.state, content, *size, colour=self._colour))
            self._drawn = wanted

    def _content(self) -> Content | None:
        last = self._cycles.last
        if last is None:
            return None
        running = not self._cycles.ended.is_set()
        return Content(self._title, last.view, last.seconds, self.notice, running)

    def _press(self, key: str) -> str | None:
        last = self._cycles.last
        if last is None:
            return "quit" if key == "q" else None
        state, view = self.state, last.view
        state.resource = resource_of(state, view)
        paused = state.paused
        rows = self._page.pane(state, view, state.pane).keys
        wish = state.press(key, rows, view.resources, self._page.height)
        if state.paused != paused:
            self._cycles.pause(state.paused)
        if wish == "step" and state.paused:
            self._cycles.step_once()
        if wish == "explain":
            self._explain(last, state.pane, state.position.key)
        return wish

    def _explain(self, finished: Finished, pane: str, name: str) -> None:
        self.state.show(f"explaining {name} …")
        asked = self._asked = (pane, name)
        self._answer = ""
        columns, _ = self._screen.size()

        def answer() -> None:
            try:
                text = self._cycles.explain(finished, pane, name, columns)
            except Exception as error:
                text = f"{name} cannot be explained: {error}"
            if self._asked is asked:
                self._answer = text

        threading.Thread(target=answer, daemon=True).start()

    def _show_answer(self) -> None:
        if self._answer and self.state.text:
            self.state.show(self._answer)
            self._drawn = ()
        self._answer = ""
