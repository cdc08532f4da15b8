"""Where a class comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """The distribution and entry point of a class; no distribution: it was registered locally."""

    distribution: str
    version: str
    entry_point: str
    """``module:Class``."""

    @property
    def label(self) -> str:
        return f"{self.distribution} {self.version}".strip() or "local"
