"""Where a class comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Source:
    """Where a class comes from; without a distribution, it was registered by hand."""

    distribution: str
    version: str
    entry_point: str
    """``module:Class``."""

    @property
    def label(self) -> str:
        return f"{self.distribution} {self.version}".strip() or "local"
