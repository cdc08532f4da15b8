"""Notes on what could not be imported, with its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pumice.config.layers import spell
from pumice.config.lines import KeyPath
from pumice.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Note:
    """Something in the imported file that the policy lacks or has in another form."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{spell(self.path)}: {self.text}" if self.path else self.text


@dataclass(slots=True)
class ImportNotes:
    """Collects notes, and problems that are reported together."""

    where: str
    notes: list[Note] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def note(self, path: KeyPath, text: str) -> None:
        self.notes.append(Note(path, text))

    def problem(self, path: KeyPath, text: str) -> None:
        self.problems.append(f"{self.where}: {spell(path)}: {text}")

    def raise_any(self) -> None:
        if self.problems:
            raise PolicyError(self.where, self.problems)

    def table(self, path: KeyPath, value: Any) -> Mapping[Any, Any]:
        """A table that may be absent; anything else is a problem."""
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            self.problem(path, f"should be a table, not {value!r}")
            return {}
        return value

    def tables(self, path: KeyPath, value: Any) -> list[Mapping[str, Any]]:
        """A list of tables that may be absent; anything else is a problem."""
        if value is None:
            return []
        if isinstance(value, list) and all(isinstance(item, Mapping) for item in value):
            return value
        self.problem(path, f"should be a list of tables, not {value!r}")
        return []
