"""What the combination rules are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

from pumice._culprit import job_concerned, place_defined, place_raised
from pumice.errors import NOT_CONTAINED, PluginError

Answer = Callable[..., Any]
"""A function of an extension point's arguments: one plugin's, or the combined one."""
OnError = Callable[[PluginError], None]
"""Receives the errors of plugins that a rule does not raise."""
Check = Callable[[Any, Sequence[Any]], Any]
"""Gives an answer to these arguments as the rule needs it, or raises AnswerError."""

PERMIT = 1
"""The vote for a proposal."""
ABSTAIN = 0
"""The vote of a plugin without an opinion."""
REJECT = -1
"""The vote against a proposal, which no later plugin can overrule."""


class Skip:
    """What ``pre_predicate`` answers to leave its plugin's ``predicate`` out for this task."""

    def __repr__(self) -> str:
        return "SKIP"


SKIP = Skip()
"""What ``pre_predicate`` answers to leave its plugin's ``predicate`` out for this task."""


def unchecked(answer: Any, args: Sequence[Any]) -> Any:
    """The answer as it is."""
    return answer


@dataclass(slots=True, frozen=True, eq=False)
class Impl:
    """One plugin's implementation, bound to its instance and to the spec's argument order."""

    plugin: str
    """The plugin's name in the policy."""
    fn: Answer
    """The bound method."""
    source: str = ""
    """Distribution and version, for error messages."""
    check: Check = unchecked
    """Checks an answer that is not of the type which the rule expects most."""
    method: Any = None
    """The method as the plugin defines it, for error messages."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the extension point that the method names."""
        return named_arguments(self.method)


def named_arguments(method: Any) -> tuple[str, ...]:
    """The arguments that a method names besides ``self``."""
    code = method.__code__
    names: tuple[str, ...] = code.co_varnames[1 : code.co_argcount]
    return names


Tiers = Sequence[Sequence[Impl]]
"""The implementations of one extension point, tier by tier in policy order."""


def flat(tiers: Tiers) -> tuple[Impl, ...]:
    """All implementations in policy order."""
    return tuple(impl for tier in tiers for impl in tier)


def occupied(tiers: Tiers) -> tuple[tuple[Impl, ...], ...]:
    """The tiers that have an implementation."""
    return tuple(tuple(tier) for tier in tiers if tier)


def fail(point: str, impl: Impl, exc: BaseException, args: Sequence[Any] = ()) -> NoReturn:
    """Raise the error that names the plugin which raised ``exc``, asked about ``args``."""
    raise plugin_error(point, impl, exc, args)


def plugin_error(
    point: str, impl: Impl, exc: BaseException, args: Sequence[Any] = ()
) -> PluginError:
    """The error that names the plugin which raised ``exc``; a PluginError stays as it is.

    An interrupt by the user, and what ``--check`` finds, is no fault of a plugin: it is raised.
    """
    if isinstance(exc, PluginError):
        return exc
    if isinstance(exc, NOT_CONTAINED):
        raise exc
    place = place_raised(exc) or place_defined(impl.method)
    error = PluginError(point, impl.plugin, impl.source, exc, place=place, job=job_concerned(args))
    error.__cause__ = exc
    return error


class Rule:
    """Base of the rules.

    Each rule has its own loop and catches there what plugins raise, although the loops are alike:
    a shared one, or a guard around every implementation, would cost a call more for each answer.
    Whatever a plugin raises is caught, SystemExit included; an answer that is not of the expected
    type is given to ``Impl.check``.
    """

    refuses: ClassVar[bool] = True
    """Whether an answer can refuse something. A plugin that could not be opened then counts as
    refusing; where it could only have ordered or scored, it is left out."""
    default: ClassVar[str] = ""
    """The combined answer when no plugin implements the point, for people."""

    @property
    def name(self) -> str:
        """The name of the rule."""
        return type(self).__name__

    @property
    def meaning(self) -> str:
        """First sentence of the rule's docstring."""
        return (type(self).__doc__ or "").strip().splitlines()[0]

    def compile(self, point: str, tiers: Tiers, on_error: OnError) -> Answer:
        """Build the combined function; ``on_error`` receives what the rule does not raise."""
        raise NotImplementedError
