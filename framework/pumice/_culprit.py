"""Which line of a plugin or action is at fault, and which job was being decided."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from traceback import walk_tb
from types import FrameType
from typing import Any

FRAMEWORK = "pumice"


def package_of(frame: FrameType) -> str:
    """The top-level package of the code that a frame runs."""
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def place_raised(error: BaseException) -> str:
    """``file:line`` of the innermost line of the plugin or action that raised; empty if unknown.

    Its package is that of the first frame outside the framework; libraries that it called do not
    count.
    """
    package, place = "", ""
    for frame, line in walk_tb(error.__traceback__):
        own = package_of(frame)
        if own == FRAMEWORK or (package and own != package):
            continue
        package, place = own, f"{_short(frame.f_code.co_filename)}:{line}"
    return place


def place_defined(method: Any) -> str:
    """``file:line`` where a method is defined; empty if unknown."""
    code = getattr(method, "__code__", None)
    return f"{_short(code.co_filename)}:{code.co_firstlineno}" if code is not None else ""


def _short(path: str) -> str:
    """A path below the folder of ``sys.path`` that it was imported from."""
    folders = [os.path.join(os.path.abspath(folder), "") for folder in sys.path]
    inside = [folder for folder in folders if path.startswith(folder)]
    return path[len(max(inside, key=len)) :] if inside else path


def job_concerned(things: Iterable[Any]) -> str:
    """The uid of the first job among the arguments of a question; empty without one."""
    from pumice.model.job import Job

    for thing in things:
        for _ in range(3):  # a bind context has a task, a task has a job
            if isinstance(thing, Job):
                return thing.uid
            thing = next(
                (
                    inner
                    for name in ("job", "task", "preemptor")
                    if (inner := getattr(thing, name, None)) is not None
                ),
                None,
            )
    return ""
