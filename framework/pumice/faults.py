"""What plugins and actions did wrong in a cycle: each fault once, with a count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pumice.errors import PluginError


@dataclass(slots=True)
class Fault:
    """A fault of a plugin or an action, however often it occurred in a cycle."""

    kind: str
    """``plugin`` or ``action``."""
    name: str
    """Its name in the policy."""
    source: str
    """Its distribution and version."""
    hook: str
    """The extension point; ``execute`` of an action."""
    place: str
    """``file:line`` in its code."""
    job: str
    """The job (``namespace/name``) that was decided when it occurred first; empty for none."""
    text: str
    """What happened the first time, for a person."""
    cause: str = ""
    """The type of what was raised."""
    count: int = 1
    """How often it occurred in the cycle."""
    cycles: int = 1
    """In how many cycles in a row it occurred, this one included."""

    @property
    def key(self) -> tuple[str, ...]:
        """What two occurrences of the same fault have in common."""
        return (self.kind, self.name, self.hook, self.place, self.cause)

    def __str__(self) -> str:
        job = f", job {self.job}" if self.job else ""
        times = f"; {self.count} times" if self.count > 1 else ""
        cycles = f"; for {self.cycles} cycles in a row" if self.cycles > 1 else ""
        return f"{self.text}{job}{times}{cycles}"

    def as_json(self) -> dict[str, Any]:
        """The fault in ``pumice run -o json``."""
        return {
            self.kind: self.name,
            "source": self.source,
            "hook": self.hook,
            "place": self.place,
            "job": self.job,
            "text": self.text,
            "count": self.count,
            "cycles": self.cycles,
        }


class FaultLog:
    """The faults of one cycle."""

    def __init__(self, faults: list[Fault]) -> None:
        """``faults`` is where they are listed."""
        self._faults = faults
        self._by_key: dict[tuple[str, ...], Fault] = {}

    def add(self, error: PluginError) -> bool:
        """Count an error; whether it is the first of its fault."""
        fault = Fault(
            error.kind,
            error.plugin,
            error.source,
            error.point,
            error.place,
            error.job,
            str(error),
            error.cause,
        )
        known = self._by_key.setdefault(fault.key, fault)
        if known is not fault:
            known.count += 1
            return False
        self._faults.append(fault)
        return True


class FaultHistory:
    """The faults of one cycle after another."""

    def __init__(self) -> None:
        self._cycles: dict[tuple[str, ...], int] = {}
        self.streaks: dict[str, int] = {}
        """Plugin → in how many cycles in a row, up to the last one, it had a fault."""

    def add_cycle(self, faults: list[Fault]) -> list[Fault]:
        """Take the faults of the next cycle; returns those to report.

        A fault is reported in the first cycle of a row, and again in the 10th, the 100th, …
        """
        for fault in faults:
            fault.cycles = self._cycles.get(fault.key, 0) + 1
        self._cycles = {fault.key: fault.cycles for fault in faults}
        faulty = {fault.name for fault in faults if fault.kind == "plugin"}
        self.streaks = {name: self.streaks.get(name, 0) + 1 for name in sorted(faulty)}
        return [fault for fault in faults if str(fault.cycles).strip("0") == "1"]
