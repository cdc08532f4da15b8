"""Backends: where the facts come from and where the decisions go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pumice.decisions import Decisions
    from pumice.model.facts import Inventory


@runtime_checkable
class Backend(Protocol):
    """What a scheduler needs of a cluster. A backend never decides."""

    def snapshot(self) -> Inventory:
        """The facts as they are now.

        An object that has changed since the last time is a new one, because objects are compared by
        identity. One that has not should be the same object, so that nothing is rebuilt for it.
        """
        ...

    def apply(self, decisions: Decisions) -> None:
        """Carry out the decisions of a cycle."""
        ...

    def now(self) -> float:
        """Epoch seconds by the cluster's clock."""
        ...
