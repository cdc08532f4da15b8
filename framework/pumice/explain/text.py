"""An explanation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import wrap
from typing import Any

from pumice.explain.codes import CODES, ReasonCode
from pumice.explain.explanation import Explanation, Level, Victim
from pumice.explain.verdict import names

_WIDTH = 100
_INDENT = " " * 4
_ORDER = (
    "asked", "used", "free", "inqueue", "deserved", "fair_share", "share", "limit", "missing",
    "most_free_on_a_node",
)  # fmt: skip


def explanation_text(
    explanation: Explanation, *, not_tried: str = "", columns: int | None = None
) -> str:
    """All of it, in at most so many columns but for the first line.

    That is the verdict with its code and what decides.
    """
    lines = [verdict_line(explanation), ""]
    columns = min(columns or _WIDTH, _WIDTH)
    width = max((len(level.level) for level in explanation.levels), default=0)
    for level in explanation.levels:
        lines += _level(level, width, columns)
    if explanation.victims:
        lines += ["", *_victims(explanation.victims, columns)]
    if explanation.would_run_if:
        lines += ["", "It would run with one of these changes:"]
        for change in explanation.would_run_if:
            lines += _wrapped(f"{change.change}: {change.result}", "  - ", _INDENT, columns)
    if not_tried:
        lines += ["", *_wrapped(not_tried, "", "", columns)]
    known = CODES.get(explanation.code)
    waits = explanation.verdict in ("pending", "never")
    if known is not None and waits and not explanation.would_run_if:
        lines += ["", *_wrapped(f"What helps: {known.remedy}", "", "", columns)]
    return "\n".join(lines)


def verdict_line(explanation: Explanation) -> str:
    """The verdict, its code and the constraint that decides, in one line."""
    word = {
        "pending": "is pending",
        "never": "can never run as it is",
        "running": "runs",
        "evicted": "was evicted",
    }[explanation.verdict]
    return f"{explanation.job} {word}: {explanation.code}: {explanation.binding}"


def code_text(code: ReasonCode) -> str:
    """A reason code at length."""
    kind = "never, until something is changed" if code.never else "not now"
    lines = [f"{code.code}: {code.title}", "", f"Level: {code.level}. Verdict: {kind}.", ""]
    lines += _wrapped(code.meaning, "", "")
    lines += ["", *_wrapped(f"What helps: {code.remedy}", "", "")]
    return "\n".join(lines)


def _level(level: Level, width: int, columns: int) -> Iterator[str]:
    mark, margin = "ok" if level.ok else "NO", " " * (width + 6)
    yield from _wrapped(level.text, f"{mark}  {level.level:<{width}}  ", margin, columns)
    if level.ok:
        return
    who = [
        level.plugin,
        level.hook,
        f"tier {level.tier}" if level.tier is not None else "",
        level.where if level.plugin else "",
    ]
    said = " · ".join(part for part in who if part)
    if said:
        yield from _wrapped(said, margin, margin, columns)
    numbers = _numbers(level.numbers)
    if numbers:
        yield from _wrapped(numbers, margin, margin, columns)


def _numbers(numbers: Mapping[str, Any]) -> str:
    rank = {name: position for position, name in enumerate(_ORDER)}
    ordered = sorted(numbers.items(), key=lambda item: rank.get(item[0], len(rank)))
    parts = [
        f"{name.replace('_', ' ')}: {_value(value)}"
        for name, value in ordered
        if value not in ({}, [], "", None) and name != "by_reason"
    ]
    return "; ".join(parts)


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        if any(isinstance(inner, Mapping) for inner in value.values()):
            return ", ".join(f"{name} {_value(inner)}" for name, inner in value.items())
        return ", ".join(f"{amount} {name}" for name, amount in value.items())
    if isinstance(value, list | tuple):
        return names([str(item) for item in value])
    return str(value)


def _victims(victims: tuple[Victim, ...], columns: int) -> Iterator[str]:
    count = len(victims)
    yield f"{count} possible victim{'s' * (count != 1)}:"
    groups: dict[tuple[str, str, str, int | None, str], list[str]] = {}
    for victim in victims:
        key = (victim.outcome, victim.plugin, victim.hook, victim.tier, victim.reason)
        groups.setdefault(key, []).append(victim.task)
    for (outcome, plugin, hook, tier, reason), tasks in groups.items():
        by = f" by {plugin} ({hook}{f', tier {tier}' if tier else ''})" if plugin else ""
        text = f"{len(tasks)} {outcome}{by}: {reason}: {names(tasks)}"
        yield from _wrapped(text, "  - ", _INDENT, columns)


def _wrapped(text: str, first: str, rest: str, columns: int = _WIDTH) -> list[str]:
    lines = wrap(
        text,
        columns,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]
