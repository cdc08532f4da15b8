"""Errors that users meet: each names the thing, the place and, where known, the fix."""

from __future__ import annotations


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


class PluginError(PumiceError):
    """A plugin raised in an extension point. ``__cause__`` is what it raised."""

    exit_status = 1
    """The exit status of the command that it ends."""

    def __init__(self, point: str, plugin: str, source: str, cause: BaseException) -> None:
        super().__init__(
            f"plugin {plugin} ({source}) failed in {point}: {type(cause).__name__}: {cause}"
        )
        self.point = point
        """The extension point that was asked."""
        self.plugin = plugin
        """The plugin's name in the policy."""
        self.source = source
        """The plugin's distribution and version."""
