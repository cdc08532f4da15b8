"""The active policy and its action instances, replaced together or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pumice.action import Action
from pumice.config.policy import Policy
from pumice.errors import LoadError, PumiceError
from pumice.log import logger


@dataclass(frozen=True, slots=True)
class _ActivePolicy:
    policy: Policy
    actions: tuple[Action, ...]


class PolicyHolder:
    """Holds a policy with the instances of its actions.

    ``load`` reads the policy; it is called now and at every :meth:`reload`.
    """

    def __init__(self, load: Callable[[], Policy]) -> None:
        self._load = load
        self._current = _start(load())

    @property
    def policy(self) -> Policy:
        return self._current.policy

    @property
    def actions(self) -> tuple[Action, ...]:
        """The actions in the order of the policy, initialized."""
        return self._current.actions

    def reload(self) -> PumiceError | None:
        """Load the policy again and activate it; on an error return it and change nothing.

        The new actions are initialized before the old ones are uninitialized.
        """
        try:
            fresh = _start(self._load())
        except PumiceError as error:
            logger.warning("the active policy stays: {}", error)
            return error
        old, self._current = self._current, fresh
        _stop(old.actions)
        logger.info("active policy: {}", fresh.policy.origin)
        return None

    def close(self) -> None:
        """Uninitialize the actions."""
        _stop(self._current.actions)


def _start(policy: Policy) -> _ActivePolicy:
    started: list[Action] = []
    for entry in policy.actions:
        try:
            action = entry.cls(entry.options, entry.name)
            action.initialize()
        except (Exception, SystemExit) as error:
            _stop(started)
            raise LoadError(
                f"action {entry.name!r} ({entry.source.label}) failed to initialize: "
                f"{type(error).__name__}: {error}"
            ) from error
        started.append(action)
    return _ActivePolicy(policy, tuple(started))


def _stop(actions: Sequence[Action]) -> None:
    for action in reversed(actions):
        try:
            action.uninitialize()
        except (Exception, SystemExit) as error:  # the others must be uninitialized, too
            logger.warning("{} failed to uninitialize: {}", action, error)
