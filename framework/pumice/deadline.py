"""The deadline of a cycle: it interrupts the plugin or action that is running then."""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from pumice._culprit import FRAMEWORK, package_of
from pumice.errors import DeadlinePassed

if TYPE_CHECKING:
    from pumice.config import Policy

_RETRY = 0.01
"""Seconds until the next attempt while the framework itself is running."""
_PAUSE = 0.5
"""Seconds after an interruption in which the cycle can end on its own."""


class Deadline:
    """Ends a cycle that takes too long, by raising :class:`DeadlinePassed` where it is.

    It is raised in the code of plugins and actions only, or in a library that they called, and
    only in a call that takes long: the framework is never interrupted in the middle of a change.
    In the main thread a timer signal (SIGALRM) also ends a call that blocks, such as a read from a
    socket. In other threads, and where the program uses that signal itself, a thread raises the
    exception, which waits until a blocking call returns.
    """

    def __init__(self, seconds: float, packages: Collection[str]) -> None:
        """``packages`` are the top-level packages of the plugins and actions."""
        self.seconds = seconds
        """How long the cycle may take."""
        self._packages = frozenset(packages)
        self._end = time.monotonic() + seconds
        self._seen: list[FrameType] = []

    @classmethod
    def of(cls, policy: Policy) -> Deadline | None:
        """The deadline of a cycle that begins now; None: the policy sets none."""
        seconds = policy.scheduler.cycle_deadline
        if not seconds:
            return None
        parts: list[type] = [entry.cls for entry in policy.plugins]
        parts += [entry.cls for entry in policy.actions]
        return cls(seconds, {part.__module__.partition(".")[0] for part in parts})

    @property
    def passed(self) -> bool:
        """Whether it has passed."""
        return time.monotonic() >= self._end

    def check(self) -> None:
        """Raise :class:`DeadlinePassed` if it has passed."""
        if self.passed:
            raise self._exception()

    def extend(self) -> None:
        """Allow as much time again, from now on: for what follows the decisions."""
        self._end = time.monotonic() + self.seconds

    @contextmanager
    def watch(self) -> Iterator[None]:
        """A block in which plugins and actions are interrupted when the deadline passes."""
        watching = _by_signal if _signal_is_free() else _by_thread
        left = max(self._end - time.monotonic(), _RETRY)
        try:
            with watching(left, self._is_culprit, self._exception):
                yield
        finally:
            self._seen.clear()

    def _is_culprit(self, frame: FrameType | None) -> bool:
        """Whether a plugin or action is running, in a call that an earlier look has seen, too.

        So an action that never ends is not mistaken for a plugin that it happens to ask just now.
        """
        entry, is_part = None, False
        while frame is not None and package_of(frame) != FRAMEWORK:
            is_part = is_part or package_of(frame) in self._packages
            entry, frame = frame, frame.f_back
        if entry is None or not is_part or frame is None:
            return False
        if any(entry is known for known in self._seen):
            return True
        self._seen.append(entry)
        return False

    def _exception(self) -> DeadlinePassed:
        return DeadlinePassed(f"the cycle had reached its deadline of {self.seconds:g}s")


_Test = Callable[[FrameType | None], bool]
_Make = Callable[[], DeadlinePassed]


def _signal_is_free() -> bool:
    return (
        hasattr(signal, "setitimer")
        and threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGALRM) in (signal.SIG_DFL, signal.SIG_IGN)
    )


@contextmanager
def _by_signal(delay: float, interruptible: _Test, make: _Make) -> Iterator[None]:
    def expired(number: int, frame: FrameType | None) -> None:
        now = interruptible(frame)
        signal.setitimer(signal.ITIMER_REAL, _PAUSE if now else _RETRY)
        if now:
            raise make()

    before = signal.signal(signal.SIGALRM, expired)
    signal.setitimer(signal.ITIMER_REAL, delay)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _by_thread(delay: float, interruptible: _Test, make: _Make) -> Iterator[None]:
    thread, done = threading.get_ident(), threading.Event()
    text = str(make())
    # An exception of another thread is given as a class, without arguments.
    expired = type("DeadlinePassed", (DeadlinePassed,), {"__str__": lambda self: text})

    def watch() -> None:
        wait = delay
        while not done.wait(wait):
            now = interruptible(sys._current_frames().get(thread))
            if now:
                _raise_in(thread, expired)
            wait = _PAUSE if now else _RETRY

    watcher = threading.Thread(target=watch, name="pumice-deadline", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
        _raise_in(thread, None)  # what has not arrived yet is withdrawn


def _raise_in(thread: int, exception: type[BaseException] | None) -> None:
    raised = ctypes.py_object(exception) if exception is not None else None
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), raised)
