"""The explanation of one job: its shape is that of ``pumice explain -o json``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pumice.model.quantity import PODS, shown
from pumice.model.resources import Resource

Word = Literal["pending", "never", "running", "evicted"]


@dataclass(frozen=True, slots=True)
class Level:
    """One step of the decision."""

    level: str
    """``policy``, ``enqueue gate``, ``queue limit``, ``share``, ``order``, ``gang``, ``nodes``,
    ``eviction``, or the name of an evicting action."""
    ok: bool
    """Whether the job passed it."""
    text: str
    """What was decided, for a person."""
    plugin: str = ""
    """The plugin that decided; empty: none in particular."""
    hook: str = ""
    """The extension point at which it did."""
    tier: int | None = None
    """Its tier, counted from 1."""
    where: str = ""
    """Where the policy lists the plugin, or the action."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The amounts behind it."""


@dataclass(frozen=True, slots=True)
class Victim:
    """A task that was considered as a victim for the job, or evicted."""

    task: str
    """``namespace/name``."""
    outcome: str
    """``spared``, ``allowed`` (the plugins agree, but it did not help) or ``evicted``."""
    plugin: str = ""
    """The plugin that spared it, or those whose tier allowed it."""
    hook: str = ""
    """The extension point."""
    tier: int | None = None
    """The tier, counted from 1."""
    reason: str = ""
    """Why, for a person."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change with which the job would run, found by deciding the same cluster again."""

    change: str
    """What to change, for a person."""
    kind: str
    """``victim``, ``weight``, ``limit``, ``request``, ``gang``, ``vote`` or ``priority``."""
    result: str
    """What happens then: the job starts, or starts once evictions have finished."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a job waits, runs or was evicted."""

    job: str
    """``namespace/name``."""
    verdict: Word
    """What it comes to."""
    code: str
    """The reason code; ``pumice explain --code CODE`` describes it."""
    binding: str
    """The constraint that decides, with numbers."""
    levels: tuple[Level, ...] = ()
    """The steps in the order of decision."""
    victims: tuple[Victim, ...] = ()
    """Who was considered as a victim."""
    would_run_if: tuple[Change, ...] = ()
    """Changes with which it would run."""

    def to_dict(self) -> dict[str, Any]:
        """The shape of ``pumice explain -o json``."""
        return {
            "job": self.job,
            "verdict": self.verdict,
            "code": self.code,
            "binding": self.binding,
            "levels": [
                {
                    "level": level.level,
                    "ok": level.ok,
                    "text": level.text,
                    "plugin": level.plugin,
                    "hook": level.hook,
                    "tier": level.tier,
                    "where": level.where,
                    "numbers": dict(level.numbers),
                }
                for level in self.levels
            ],
            "victims": [
                {
                    "task": victim.task,
                    "outcome": victim.outcome,
                    "plugin": victim.plugin,
                    "hook": victim.hook,
                    "tier": victim.tier,
                    "reason": victim.reason,
                }
                for victim in self.victims
            ],
            "would_run_if": [
                {"change": change.change, "kind": change.kind, "result": change.result}
                for change in self.would_run_if
            ],
        }


def plain_numbers(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Amounts as plain data: a resource becomes a table of amounts with units."""
    return {name: _plain(value) for name, value in numbers.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Resource):
        return amounts(value)
    if isinstance(value, Mapping):
        return {
            name: shown(name, amount) if isinstance(amount, int | float) else amount
            for name, amount in value.items()
            if amount
        }
    return value


def amounts(resource: Resource) -> dict[str, str]:
    """The amounts of a resource with their units, without pods and what is zero."""
    return {
        name: shown(name, value)
        for name, value in resource.items()
        if name != PODS and abs(value) >= 0.1
    }
