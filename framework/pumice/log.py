"""The logger: silent in a library, configured by the command line."""

from __future__ import annotations

import json as jsonlib
import os
import sys
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from loguru import Message, Record

__all__ = ["announce", "logger", "setup"]

logger.disable("pumice")  # a library is quiet until its application asks (the CLI does)

_WARNING = 30
_LEVELS = {-1: "ERROR", 0: "WARNING", 1: "INFO", 2: "DEBUG"}


def setup(verbosity: int = 0, json: bool = False, job: str = "") -> None:
    """Log to standard error: warnings; decisions at 1; everything at 2; only errors below 0.

    With ``json``, one object a line: time, level, message, and whatever was bound. ``job``: of
    what is less than a warning, only what names this job.
    """
    logger.remove()
    logger.enable("pumice")
    logger.add(
        _write_json if json else sys.stderr,
        level=_LEVELS[max(-1, min(verbosity, 2))],
        format=_line,
        colorize=False if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else None,
        filter=lambda record: not job or record["level"].no >= _WARNING or job in record["message"],
        backtrace=False,
        diagnose=False,
    )


def announce(text: str) -> bool:
    """Log a line of level INFO; answers whether anybody gets what is logged at that level.

    loguru can be asked in no other way, and a message that nobody gets costs a microsecond, which
    counts where there is one for every bind.
    """
    received: list[str] = []

    def line() -> str:
        received.append(text)
        return text

    logger.opt(lazy=True).info("{}", line)
    return bool(received)


def _line(record: Record) -> str:
    bound = "".join(f" {key}={{extra[{key}]}}" for key in record["extra"])
    return f"<level>{{level.name}}</level> {{message}}{bound}\n{{exception}}"


def _write_json(message: Message) -> None:
    record = message.record
    line = {
        "time": record["time"].isoformat(),
        "level": record["level"].name.lower(),
        "message": record["message"],
        "logger": record["name"],
        **record["extra"],
    }
    if record["exception"] is not None:
        line["exception"] = repr(record["exception"].value)
    print(jsonlib.dumps(line, default=str), file=sys.stderr)
