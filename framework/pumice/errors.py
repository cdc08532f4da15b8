"""Errors that users meet: each names the thing, the place and, where known, the fix."""

from __future__ import annotations

from typing import ClassVar, Self


class PumiceError(Exception):
    """Base of every error that Pumice raises on purpose. ``hint`` is what to do about it."""

    exit_status = 2
    """The exit status of the command that it ends."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint
        """What to do about it; empty if that is clear."""


class PolicyError(PumiceError):
    """A policy that cannot be used; ``problems`` lists everything that is wrong with it."""

    def __init__(self, where: str, problems: list[str]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"{where}: {count}")
        self.where = where
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join([str(self.args[0]), *(f"  {line}" for line in self.problems)])


class LoadError(PumiceError):
    """A plugin, action or backend that is installed but cannot be used.

    ``reason`` is the kind of fault: ``broken``, ``API version`` or ``claimed twice``.
    """

    def __init__(self, message: str, *, hint: str = "", reason: str = "broken") -> None:
        super().__init__(message, hint=hint)
        self.reason = reason


class ManifestError(PumiceError):
    """A manifest file that cannot be read at all."""


class ScenarioError(PumiceError):
    """A scenario file that cannot be run."""


class StatementError(PumiceError):
    """An operation that the session's state does not allow."""


class InvariantError(PumiceError):
    """The session's accounts do not add up: a bug in Pumice or in a plugin."""

    exit_status = 1


class AnswerError(PumiceError):
    """An answer of a type or shape that its extension point does not allow."""

    def __init__(self, answer: object, expected: str) -> None:
        super().__init__(f"answered {shortened(answer)}, {expected} was expected")


class DeadlinePassed(BaseException):
    """Ends a cycle whose deadline has passed.

    It is raised wherever a plugin or an action is at that time, and no ``Exception``, so that
    their handlers do not catch it.
    """


class PluginError(PumiceError):
    """A plugin raised in an extension point or answered it wrongly. ``__cause__`` is the reason."""

    exit_status = 1
    """The exit status of the command that it ends."""
    kind: ClassVar[str] = "plugin"
    """``plugin`` or ``action``: whose fault it is."""

    def __init__(
        self,
        point: str,
        plugin: str,
        source: str,
        cause: BaseException,
        *,
        place: str = "",
        job: str = "",
    ) -> None:
        who = f"{self.kind} {plugin} ({source})"
        if isinstance(cause, AnswerError):
            text = f"{who}: {point} {cause}"
        elif isinstance(cause, DeadlinePassed):
            text = f"{who} was interrupted in {point}: {cause}"
        else:
            text = f"{who} failed in {point}: {described(cause)}"
        super().__init__(f"{text} ({place})" if place else text)
        self.point = point
        """The extension point that was asked; ``execute`` of an action."""
        self.plugin = plugin
        """The name of the plugin, or of the action, in the policy."""
        self.source = source
        """The distribution and version."""
        self.place = place
        """``file:line`` in the code of the plugin or action."""
        self.job = job
        """The job (``namespace/name``) that was being decided; empty if there was none."""
        self.cause = type(cause).__name__
        """The type of what was raised."""

    def repeated(self) -> Self:
        """The same error without its traceback, to be raised again."""
        again = type(self).__new__(type(self))
        again.args = self.args
        again.__dict__.update(self.__dict__)
        return again


class ActionError(PluginError):
    """An action raised. ``__cause__`` is what it raised."""

    kind = "action"
    """``action``."""


NOT_CONTAINED = (KeyboardInterrupt, InvariantError)
"""What ends the program wherever it is raised: the user's interrupt, and what ``--check`` finds."""


def described(error: BaseException) -> str:
    """Type and text of an exception, also of one that cannot be formatted."""
    try:
        text = str(error)
    except Exception as failure:
        text = f"its text cannot be read ({type(failure).__name__})"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def shortened(value: object) -> str:
    """A value for a message, in at most 80 characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception as failure:
        text = f"a {type(value).__name__} whose repr raises {type(failure).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
