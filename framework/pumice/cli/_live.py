"""Backends of live clusters on the command line: their options, and the loop of cycles."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from pumice._nearest import did_you_mean
from pumice.backends import LiveBackend
from pumice.cli._decisions import cycle_data, print_cycle
from pumice.cli._output import print_json_line
from pumice.config import Policy
from pumice.decisions import Decisions
from pumice.errors import PumiceError
from pumice.scheduler import Scheduler


def is_live(cls: Any) -> bool:
    """Whether a class is the backend of a live cluster."""
    return hasattr(cls, "from_options") and hasattr(cls, "wait")


def live_backend(
    name: str, cls: Any, settings: Sequence[str], policy: Policy, *, dry_run: bool = False
) -> LiveBackend:
    """The backend with the options of ``--backend-set``.

    :raises PumiceError: there is no such option, or its value cannot be used.
    """
    options: dict[str, Any] = {}
    known = list(cls.Options.model_fields)
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or key not in known:
            near = did_you_mean(key, known)
            raise PumiceError(
                f"--backend-set {setting}: the backend {name!r} has no option {key!r}{near}"
                if equals
                else f"--backend-set {setting}: there is no '='",
                hint=f"options: {', '.join(known)}",
            )
        options[key] = value
    try:
        return cast(LiveBackend, cls.from_options(options, policy, dry_run=dry_run))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise PumiceError(f"--backend-set {place}: {first['msg']}") from None


def run_live(
    backend: LiveBackend,
    scheduler: Scheduler,
    step: Callable[[], None],
    *,
    cycles: int | None,
    policy_file: Path | None,
) -> None:
    """Run cycles as they are due, until the backend is stopped or so many have been run.

    ``step`` runs one of them. A policy file that changes is loaded again; one that cannot be used
    changes nothing.
    """
    before = _signals(backend.stop)
    stamp = _stamp(policy_file)
    try:
        while (cycles is None or scheduler.cycle < cycles) and backend.wait():
            if _stamp(policy_file) != stamp:
                stamp = _stamp(policy_file)
                scheduler.holder.reload()
            step()
    finally:
        for number, handler in before:
            signal.signal(number, handler)
        scheduler.close()
        backend.close()


def print_live_cycle(
    number: int, clock: float, decisions: Decisions, output: str, full: bool
) -> None:
    """Print a cycle, in a table only if something was decided."""
    if output == "jsonl":
        data = cycle_data(number, clock, decisions)
        print_json_line({**data, "warnings": [], "left_out": []})
    elif output == "table" and (decisions.binds or decisions.evictions):
        print_cycle(number, decisions, clock, full=full)


def _signals(stop: Callable[[], None]) -> list[tuple[int, Any]]:
    """Let the signals that end a process stop the backend; returns the handlers before."""
    try:
        return [
            (number, signal.signal(number, lambda *_: stop()))
            for number in (signal.SIGTERM, signal.SIGINT)
        ]
    except ValueError:  # not in the main thread: the program has its own way to stop
        return []


def _stamp(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file is replaced, also behind a symbolic link."""
    try:
        if path is None:
            return None
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
