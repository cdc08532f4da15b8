"""The policy in force and its running actions, replaced whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pumice.action import Action
from pumice.config.policy import Policy
from pumice.errors import LoadError, PumiceError
from pumice.log import logger


@dataclass(frozen=True, slots=True)
class _InForce:
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
        """Read the policy again and put it in force; on an error give it back and change nothing.

        The new actions are initialized before the old ones are told to let go.
        """
        try:
            fresh = _start(self._load())
        except PumiceError as error:
            logger.warning("the policy in force stays: {}", error)
            return error
        old, self._current = self._current, fresh
        _stop(old.actions)
        logger.info("policy in force: {}", fresh.policy.origin)
        return None

    def close(self) -> None:
        """Let the actions release what they hold."""
        _stop(self._current.actions)


def _start(policy: Policy) -> _InForce:
    started: list[Action] = []
    for entry in policy.actions:
        try:
            action = entry.cls(entry.options, entry.name)
            action.initialize()
        except Exception as error:
            _stop(started)
            raise LoadError(
                f"action {entry.name!r} ({entry.source.label}) failed to initialize: "
                f"{type(error).__name__}: {error}"
            ) from error
        started.append(action)
    return _InForce(policy, tuple(started))


def _stop(actions: Sequence[Action]) -> None:
    for action in reversed(actions):
        try:
            action.uninitialize()
        except Exception as error:  # the others must be told, too
            logger.warning("{} failed to uninitialize: {}", action, error)
