"""The simulation of topology-aware preemption on one node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pumice.combine import All, FirstError
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.facts import Queue
    from pumice.model.nodes import NodeHandle
    from pumice.model.task import Task
    from pumice.verdicts import FitError


class SimulationSpecs:
    """Asked by topology-aware preemption. ``cycle_state`` is a new dict for each attempt, in which
    a plugin stores what it knows of the simulated node under its own name."""

    @extension_point(FirstError())
    def simulate_add_task(
        self, cycle_state: dict[str, Any], task: Task, added: Task, node: NodeHandle
    ) -> FitError | None:
        """``added`` has been put back on the simulated node; adjust ``cycle_state``.

        ``task`` is the preemptor. A FitError ends the attempt.

        Default: nothing to adjust.
        """

    @extension_point(FirstError())
    def simulate_remove_task(
        self, cycle_state: dict[str, Any], task: Task, removed: Task, node: NodeHandle
    ) -> FitError | None:
        """``removed`` has been removed from the simulated node; adjust ``cycle_state``.

        A FitError ends the attempt.

        Default: nothing to adjust.
        """

    @extension_point(FirstError())
    def simulate_predicate(
        self, cycle_state: dict[str, Any], task: Task, node: NodeHandle
    ) -> FitError | None:
        """Whether the simulated node can take the task. A FitError states why not.

        Default: it can.
        """

    @extension_point(All())
    def simulate_allocatable(
        self, cycle_state: dict[str, Any], queue: Queue, task: Task
    ) -> bool | None:
        """Whether the queue, as simulated, may be given the task.

        Default: it may.
        """
