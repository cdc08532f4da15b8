"""The log of a cycle: what the ledger records as lines, in the words of an explanation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pumice.explain.record import WATCHED
from pumice.ledger import Ledger
from pumice.log import logger
from pumice.session.operations import Kind

SKIPS, VOTES, QUESTIONS, EVERYTHING = 2, 3, 4, 5
"""Levels of the log: skips, tries, commits and discards; votes; all questions but orders and
scores; those, too."""
_ORDERS = ("_order", "_order_key")
_LONG = 400

Sink = Callable[[dict[str, Any]], None]


def log_points(level: int, known: Sequence[str]) -> list[str]:
    """The extension points whose votes are logged at a level."""
    if level >= EVERYTHING:
        return list(known)
    if level >= QUESTIONS:
        return [name for name in known if not name.endswith(_ORDERS)]
    return sorted(WATCHED) if level >= VOTES else []


def log_sink(level: int, job: str = "") -> Sink:
    """Logs events; with ``job`` (``namespace/name`` or the name) only those about this job."""

    def log(event: dict[str, Any]) -> None:
        if event["event"] == "question" and level < QUESTIONS:  # the votes say it
            return
        if event.get("operations") == 0:  # a statement in which nothing was tried
            return
        if not job or concerns(event, job):
            logger.debug("{}", line(event))

    return log


def log_ledger(level: int, known: Sequence[str], *, job: str = "") -> Ledger | None:
    """A ledger that logs; None: nothing of this level needs one."""
    if level < SKIPS:
        return None
    return Ledger(log_sink(level, job), log_points(level, known))


def concerns(event: dict[str, Any], job: str) -> bool:
    """Whether an event is about a job, or happened in its turn."""
    names = (event.get("about"), event.get("job"), event.get("claimant"))
    return any(name is not None and (name == job or name.endswith(f"/{job}")) for name in names)


def line(event: dict[str, Any]) -> str:
    """An event as one line."""
    whose = event.get("about") or event.get("job")
    head = f"cycle {event['cycle']}" + (f" {whose}" if whose else "")
    text = _TEXTS.get(event["event"], _other)(event)
    return f"{head}: {text}"[:_LONG]


def _vote(event: dict[str, Any]) -> str:
    args = ", ".join(map(str, event["args"]))
    who = f"{event['plugin']} (tier {event['tier']}) answers" if "plugin" in event else "all answer"
    return f"{who} {event['point']}({args}): {event['answer']}"


def _placed(event: dict[str, Any]) -> str:
    claimant = f" for {event['claimant']}" if event.get("claimant") else ""
    return f"try {event['event']} {event['task']} on {event['node']}{claimant}"


def _ended(event: dict[str, Any]) -> str:
    kinds = ", ".join(f"{count} {kind}" for kind, count in event["kinds"].items()) or "nothing"
    reason = f": {event['reason']}" if event.get("reason") else ""
    return f"{event['event']} {kinds}{reason}"


def _searched(event: dict[str, Any]) -> str:
    words = ("considered", "simulated", "dropped", "refused")
    return "plans " + ", ".join(f"{event[word]} {word}" for word in words)


def _other(event: dict[str, Any]) -> str:
    known = ("seq", "cycle", "job", "event")
    facts = " ".join(f"{name}={value}" for name, value in event.items() if name not in known)
    return f"{event['event']} {facts}"


_TEXTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "action": lambda event: f"action {event['name']}",
    "note": lambda event: f"skip: {event['action']}: {event['code']}: {event['text']}",
    "vote": _vote,
    "question": _vote,
    **{kind.value: _placed for kind in Kind},
    "undo": lambda event: f"undo {event['task']} on {event['node']}",
    "bind": lambda event: f"bind {event['task']} to {event['node']}",
    "search": _searched,
    "commit": _ended,
    "discard": _ended,
    "refuse": _ended,
    "keep": _ended,
    "merge": _ended,
}
