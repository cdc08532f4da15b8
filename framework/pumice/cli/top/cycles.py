"""Runs cycles in a thread of their own, and explains what the last one decided."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from pumice.backends.memory import MemoryBackend
from pumice.explain.job import ExplainedCycle, ledger_of, run_explained
from pumice.explain.parts import queue_facts
from pumice.explain.record import JobLedger
from pumice.explain.text import explanation_text
from pumice.model.quantity import PODS, shown
from pumice.scheduler import Scheduler
from pumice.serve.views import CycleView, cycle_view

if TYPE_CHECKING:
    from pumice.config import Policy
    from pumice.model.facts import Inventory


@dataclass(frozen=True, slots=True, eq=False)
class Finished:
    """A cycle that has been decided."""

    view: CycleView
    seconds: float
    inventory: Inventory
    """The cluster before the decisions."""
    policy: Policy


class Cycles:
    """The cycles of one scheduler; pausing holds the next one back."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.last: Finished | None = None
        """The last cycle; replaced, never changed."""
        self.error: BaseException | None = None
        """What ended the thread."""
        self.ended = threading.Event()
        """No more cycles will come."""
        self._stopped = threading.Event()
        self._may_go = threading.Event()
        self._may_go.set()
        self._single = False
        # Two sessions at a time would share caches that hang on the same facts.
        self._deciding = threading.Lock()

    def start(self, loop: Callable[[], None]) -> None:
        """Run ``loop``, which calls :meth:`step` for each cycle, in a thread."""
        threading.Thread(target=self._run, args=(loop,), name="pumice-top", daemon=True).start()

    def _run(self, loop: Callable[[], None]) -> None:
        try:
            loop()
        except BaseException as error:  # reported by the thread that draws
            self.error = error
        finally:
            self.ended.set()

    def step(self) -> None:
        """One cycle, once it may begin."""
        self._may_go.wait()
        if self._stopped.is_set():
            return
        if self._single:
            self._single = False
            self._may_go.clear()
        with self._deciding:
            started = perf_counter()
            session = self.scheduler.run_session()
            seconds = perf_counter() - started
            view = cycle_view(session, self.scheduler.cycle)
            self.last = Finished(view, seconds, session.cluster.inventory, self.scheduler.policy)

    def pause(self, paused: bool) -> None:
        """Hold the next cycle back, or go on."""
        self._single = False
        if paused:
            self._may_go.clear()
        else:
            self._may_go.set()

    def step_once(self) -> None:
        """Run one cycle and pause."""
        self._single = True
        self._may_go.set()

    def stop(self) -> None:
        """Let the loop end after the cycle at hand."""
        self._stopped.set()
        self._may_go.set()

    def sleep(self, seconds: float) -> bool:
        """Wait between two cycles; False: stopped."""
        return not self._stopped.wait(seconds)

    def explain(self, finished: Finished, pane: str, name: str, columns: int) -> str:
        """A job, queue or node of a cycle, which is decided again and recorded for it."""
        with self._deciding:
            inventory = finished.inventory
            ledger = ledger_of(inventory, name) if pane == "jobs" else JobLedger([])
            backend = MemoryBackend(inventory, now=finished.view.now)
            cycle = run_explained(Scheduler(backend, finished.policy, fresh=True), ledger)
            if pane == "jobs":
                return explanation_text(cycle.explain(name), columns=columns)
            return queue_facts(cycle, name).text if pane == "queues" else _node_text(cycle, name)


def _node_text(cycle: ExplainedCycle, name: str) -> str:
    """What a node has, and the tasks on it at the end of the cycle."""
    nodes = cycle.session.nodes
    row = nodes.row_of[name]
    lines = [f"node {name}", ""]
    for column, resource in enumerate(nodes.dimensions.names):
        has = int(nodes.allocatable[row, column])
        used = int(nodes.pod_count[row] if resource == PODS else nodes.used[row, column])
        if has or used:
            free = "" if resource == PODS else f", {shown(resource, has - used)} free"
            lines.append(f"  {resource}: {shown(resource, used)} of {shown(resource, has)}{free}")
    held = sorted((entry.task for entry in nodes.held[row].values()), key=lambda task: task.key)
    lines += ["", f"{len(held)} task{'s' * (len(held) != 1)} on it:" if held else "no task on it"]
    for task in held:
        job = f" of {task.job.uid}" if task.job is not None else ""
        lines.append(f"  {task.key}{job}: {task.status.label}, {task.request.describe()}")
    return "\n".join(lines)
