"""The line numbers of keys and array elements in TOML text."""

from __future__ import annotations

import re
from bisect import bisect_right
from contextlib import suppress

import tomli

KeyPath = tuple[str | int, ...]
"""Keys and array positions from the root: ``("tiers", 1, "plugins", 0)``."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE = re.compile(r"[^\s.=\[\]{}\"',#]+")
_SCALAR = re.compile(r"[^,\]}\n#]*")


def index_lines(text: str) -> dict[KeyPath, int]:
    """Map the path of every key, table and array element to its line, counted from 1.

    The text must be valid TOML: only as much is parsed as is needed to find keys, and what is not
    understood ends the search silently.
    """
    scanner = _Scanner(text.replace("\r\n", "\n"))
    with suppress(_UnexpectedTokenError):
        scanner.document()
    return scanner.index


class _UnexpectedTokenError(Exception):
    pass


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.index: dict[KeyPath, int] = {}
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._lengths: dict[KeyPath, int] = {}
        """The number of tables in each array of tables so far."""

    def document(self) -> None:
        table: KeyPath = ()
        while not self._at_end():
            if self._take("[["):
                table = self._array_header()
            elif self._take("["):
                table = self._header(self._key())
                self._expect("]")
            else:
                self._pair(table)

    def _at_end(self) -> bool:
        self._skip(_BLANK)
        return self.position >= len(self.text)

    def _array_header(self) -> KeyPath:
        *parents, last = self._key()
        path = (*self._header(parents), last)
        self._record(path)
        number = self._lengths.get(path, 0)
        self._lengths[path] = number + 1
        self._record((*path, number))
        self._expect("]]")
        return (*path, number)

    def _header(self, parts: list[str]) -> KeyPath:
        path: KeyPath = ()
        for part in parts:
            path = (*path, part)
            self._record(path)
            if path in self._lengths:  # inside the last table of an array of tables
                path = (*path, self._lengths[path] - 1)
        return path

    def _pair(self, table: KeyPath) -> None:
        path = table
        for part in self._key():
            path = (*path, part)
            self._record(path)
        self._expect("=")
        self._value(path)

    def _key(self) -> list[str]:
        parts = []
        while True:
            self._skip(_SPACE)
            quoted = self.text[self.position : self.position + 1] in ('"', "'")
            raw = self._match(_STRING if quoted else _BARE)
            parts.append(next(iter(tomli.loads(f"{raw} = 0"))) if quoted else raw)
            self._skip(_SPACE)
            if not self._take("."):
                return parts

    def _value(self, path: KeyPath) -> None:
        self._skip(_SPACE)
        if self._take("["):
            self._array(path)
        elif self._take("{"):
            self._inline_table(path)
        elif self.text[self.position : self.position + 1] in ('"', "'"):
            self._match(_STRING)
        else:
            self._match(_SCALAR)

    def _array(self, path: KeyPath) -> None:
        number = 0
        while not self._closed("]"):
            self._record((*path, number))
            self._value((*path, number))
            self._skip(_BLANK)
            self._take(",")
            number += 1

    def _inline_table(self, path: KeyPath) -> None:
        while not self._closed("}"):
            self._pair(path)
            self._skip(_BLANK)
            self._take(",")

    def _closed(self, bracket: str) -> bool:
        if self._at_end():
            raise _UnexpectedTokenError
        return self._take(bracket)

    def _record(self, path: KeyPath) -> None:
        self.index.setdefault(path, bisect_right(self._starts, self.position))

    def _skip(self, pattern: re.Pattern[str]) -> None:
        self._match(pattern)

    def _match(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise _UnexpectedTokenError
        self.position = match.end()
        return match.group()

    def _take(self, token: str) -> bool:
        if not self.text.startswith(token, self.position):
            return False
        self.position += len(token)
        return True

    def _expect(self, token: str) -> None:
        self._skip(_SPACE)
        if not self._take(token):
            raise _UnexpectedTokenError
