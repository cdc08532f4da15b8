"""The life of a session, what happens in it, and what happens at a bind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pumice.combine import FirstError, Merge, Notify, NotifyAll
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.task import Task
    from pumice.verdicts import BindContext, FitError


class LifecycleSpecs:
    """Never gated by ``enable`` or ``disable``: a plugin that is named takes part."""

    @extension_point(Notify(), gated=False)
    def on_session_open(self) -> None:
        """A cycle begins: ``self.session`` is complete, nothing has been decided.

        Told once per cycle, in policy order. Build the state for the cycle here.

        Default: nothing happens.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_session_close(self) -> None:
        """All actions have run; the job phases have not been written yet.

        Told once per cycle. Conditions and reasons of jobs are set here.

        Default: nothing happens.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_allocate(self, task: Task) -> FitError | str | None:
        """The task has just been given room on ``task.node``: allocated, pipelined, or its
        eviction taken back.

        Told for simulated steps, too. An answer that is not None refuses the placement: it is
        undone, ``on_deallocate`` included. Keep whatever you count exact, so that undoing
        restores it.

        Default: no objection.
        """

    @extension_point(NotifyAll(), gated=False)
    def on_deallocate(self, task: Task) -> None:
        """The task has just lost its room: evicted, or its placement undone.

        Told for simulated steps, too. ``task.node`` still names the node.

        Default: nothing happens.
        """

    @extension_point(Notify(), gated=False)
    def setup_bind_context(self, task: Task, bind_context: BindContext) -> None:
        """A task is about to be bound: add what ``pre_bind`` will need to its context.

        Default: nothing is added.
        """

    @extension_point(FirstError(), gated=False)
    def pre_bind(self, bind_context: BindContext) -> str | None:
        """Do what must be done before the bind is sent. An answer that is not None refuses it.

        Default: no objection.
        """

    @extension_point(Notify(), gated=False)
    def pre_bind_rollback(self, bind_context: BindContext) -> None:
        """A later ``pre_bind`` refused: take back what yours did. Told in reverse order.

        Default: nothing happens.
        """

    @extension_point(Merge(), gated=False)
    def bind_request_mutate(self, task: Task, node: str) -> Mapping[str, str] | None:
        """Annotations to send with the bind. A later plugin overwrites an equal key.

        Default: none.
        """

    @extension_point(Merge(), gated=False)
    def http_handlers(self) -> Mapping[str, Callable[..., Any]] | None:
        """HTTP routes, path → handler, that the plugin serves about this session.

        Default: none.
        """
