"""Backends: where the facts come from and where the decisions go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pumice.config import Policy
    from pumice.decisions import Decisions
    from pumice.model.facts import Inventory
    from pumice.plugin import OptionsModel


@runtime_checkable
class Backend(Protocol):
    """What a scheduler needs of a cluster. A backend never decides.

    One with ``reads_reasons = False`` gets decisions in less time that have the states only of jobs
    whose pod group must be changed, and do not say why jobs wait.
    """

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


class LiveBackend(Backend, Protocol):
    """The backend of a cluster that changes by itself: it says when a cycle is due."""

    Options: ClassVar[type[OptionsModel]]
    """The options that ``pumice run --backend-set`` takes."""

    @classmethod
    def from_options(
        cls, options: Mapping[str, Any], policy: Policy, *, dry_run: bool = False
    ) -> Self:
        """The backend with these options; with ``dry_run`` it carries nothing out."""
        ...

    def wait(self) -> bool:
        """Wait until a cycle is due; False: the backend was stopped."""
        ...

    def stop(self) -> None:
        """End :meth:`wait`; may be called by a signal handler."""
        ...

    def close(self) -> None:
        """Release what the backend holds."""
        ...

    def dump(self) -> Iterable[dict[str, Any]]:
        """The objects that a snapshot needs, for ``pumice dump``."""
        ...
