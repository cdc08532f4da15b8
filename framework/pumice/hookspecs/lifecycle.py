"""Opening and closing a session, placements and evictions in it, and binds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pumice.combine import FirstError, Merge, Notify, NotifyAll
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.task import Task
    from pumice.verdicts import BindContext, FitError


class LifecycleSpecs:
    """Never gated by ``enable`` or ``disable``: every plugin of the policy is called."""

    @extension_point(Notify(), gated=False)
    def on_session_open(self) -> None:
        """A cycle begins: ``self.session`` is complete, nothing has been decided yet.

        Called once per cycle, in policy order. Build the plugin's state for the cycle here. If it
        raises, the plugin takes no further part in the cycle, and what it would have been asked to
        allow is refused.

        Default: nothing happens.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_session_close(self) -> None:
        """All actions have run; the job phases have not been written yet.

        Called once per cycle. Set conditions and reasons of jobs here.

        Default: nothing happens.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_allocate(self, task: Task) -> FitError | str | None:
        """The task has just been allocated or pipelined on ``task.node``, or its eviction undone.

        Called in simulations, too. An answer that is not None refuses the placement: it is undone,
        and ``on_deallocate`` is called. ``on_deallocate`` must restore exactly what this changes.

        Default: no objection.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_deallocate(self, task: Task) -> None:
        """The task has just been evicted, or its placement undone.

        Called in simulations, too. ``task.node`` is still the node.

        Default: nothing happens.
        """

    @extension_point(Notify(), gated=False)
    def setup_bind_context(self, task: Task, bind_context: BindContext) -> None:
        """A task is about to be bound: add to its context what ``pre_bind`` needs.

        Default: nothing is added.
        """

    @extension_point(FirstError(), gated=False)
    def pre_bind(self, bind_context: BindContext) -> str | None:
        """Prepare a bind before it is sent. An answer that is not None refuses the bind.

        Default: no objection.
        """

    @extension_point(Notify(), gated=False)
    def pre_bind_rollback(self, bind_context: BindContext) -> None:
        """A later ``pre_bind`` refused: undo what yours did. Called in reverse order.

        Default: nothing happens.
        """

    @extension_point(Merge(), gated=False, guards=True)
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        """Annotations to send with the bind. A later plugin overwrites an equal key.

        Default: none.
        """

    @extension_point(Merge(), gated=False)
    def http_handlers(self) -> Mapping[str, Callable[..., Any]] | None:
        """HTTP routes, path → handler, that the plugin serves about this session.

        Asked by ``pumice serve``, which calls a handler without arguments for each request of its
        path. Bytes are sent as a file, text as text, everything else as JSON. Paths of the page
        itself, ``/api/…`` and ``/static/…`` among them, are not overridden.

        Default: none.
        """
