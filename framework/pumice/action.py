"""What an action author subclasses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from pumice.plugin import OptionsModel
from pumice.shortcuts import Shortcut

if TYPE_CHECKING:
    from pumice.config.policy import ActionEntry, Policy
    from pumice.session.session import Session


class Action:
    """Base of every action: one step of the cycle, run in the order the policy lists them.

    An action asks the session's extension points and changes its state through statements; it
    never talks to a cluster. ``initialize`` runs when the policy is loaded, ``uninitialize`` when
    it is dropped; between them ``execute`` runs once per cycle.
    """

    class Options(OptionsModel):
        """The action's options; an action with options nests a subclass of this name."""

    api_version: ClassVar[str | None] = None
    """The API version that the action was written for ("1.0"); checked when given."""
    evicts: ClassVar[bool] = False
    """Whether the action evicts running tasks; the policy check looks at it."""
    allocates: ClassVar[bool] = False
    """Whether the action places pending jobs on idle resources, without evictions; the policy
    check expects it before actions that evict and after those that admit."""
    admits: ClassVar[bool] = False
    """Whether the action admits pending jobs into their queues; where a policy lists such an
    action, a job that it has not admitted is not placed."""
    needs_pending: ClassVar[bool] = False
    """Whether the action does nothing while no pod is pending; a simulation leaves such cycles
    out."""
    reads_fit_errors: ClassVar[bool] = True
    """Whether what the action does may depend on ``job.fit_errors`` of earlier actions. Where none
    does, and nobody reads reasons, they may be missing for jobs like others that failed."""
    needs: ClassVar[tuple[str, ...]] = ()
    """Extension points that some plugin must implement, or the action does nothing."""

    shortcuts: ClassVar[tuple[Shortcut, ...]] = ()
    """Shortcuts that the action takes: names to ask ``session.uses`` about (see
    :mod:`pumice.shortcuts`)."""

    name: str
    """The name under which the policy lists this action."""
    options: Any
    """The options from the policy, an instance of ``Options``."""

    @classmethod
    def cautions(cls, entry: ActionEntry, policy: Policy) -> Iterable[str]:
        """What is doubtful about the action's options and its place in a policy.

        ``entry`` is its entry, with its name and options. Called when a policy is loaded; each
        text becomes a warning with the line of the entry.
        """
        return ()

    def __init__(self, options: BaseModel, name: str) -> None:
        self.options = options
        self.name = name

    def initialize(self) -> None:
        """Acquire what outlives a cycle."""

    def execute(self, session: Session) -> None:
        """Decide; called once per cycle."""
        raise NotImplementedError

    def uninitialize(self) -> None:
        """Release what :meth:`initialize` acquired."""

    def __repr__(self) -> str:
        return f"<action {self.name}>"
