"""What an import could not take over, told where it stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from pumice.config.layers import spell
from pumice.config.lines import KeyPath
from pumice.errors import PolicyError


@dataclass(frozen=True, slots=True)
class Note:
    """One thing of the imported file that the policy does not have, or has otherwise."""

    path: KeyPath
    text: str

    def __str__(self) -> str:
        return f"{spell(self.path)}: {self.text}" if self.path else self.text


@dataclass(slots=True)
class Remarks:
    """Gathers notes, and problems that are told together."""

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
