"""The trials of a plan: which victims are evicted together, and which trials cannot succeed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pumice.model.task import Task
from pumice.solver.capacity_bound import CapacityBound, Request, request_of
from pumice.solver.plan import Plan, VictimGroup
from pumice.solver.task_batches import TaskBatches

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.solver.steps import Rules


class Trial(NamedTuple):
    """Victims of a plan that one simulation evicts."""

    groups: list[VictimGroup]
    evicted: list[Task]
    """All that are evicted, those of the steps before first."""
    freed: set[int]
    """The rows that are open to the claimant only because of these victims."""


class Trials:
    """Makes the trials of plans, without those that are known to fail.

    Made before any eviction. ``rows`` are open to the claimant without an eviction.
    """

    def __init__(
        self,
        session: Session,
        rules: Rules,
        batches: TaskBatches,
        tasks: list[Task],
        rows: np.ndarray,
    ) -> None:
        self._session = session
        self._rules = rules
        self._batches = batches
        self._rows = rows
        self._feasible = frozenset(rows.tolist())
        self._opened: set[int] = set()
        self.bounded = session.uses("solver_search")
        """Whether trials are left out; not if an undo may have left stale releases."""
        requests = _rejected_by_request(session, tasks) if self.bounded else {}
        self._capacity = CapacityBound(session.nodes, requests, rows)

    def start_step(self, left_node: Iterable[Task]) -> None:
        """Open the nodes that these tasks left, and close all others that were opened."""
        self._opened = set()
        self._opened = self._freed_by(left_node)

    def open(self, freed: set[int]) -> None:
        """Open more rows to the claimant for the rest of the step."""
        self._opened |= freed
        self._capacity.open(freed)

    def where(self, trial: Trial) -> np.ndarray:
        """The rows that are open to the claimant, in order."""
        added = [*trial.freed, *self._opened]
        if not added:
            return self._rows
        return np.sort(np.concatenate((self._rows, np.array(added, np.intp))))

    def of(self, plan: Plan, recorded: list[Task], wanted: Counter[Request]) -> Iterator[Trial]:
        """What to evict together for each node of the newest victim."""
        trials: Iterable[Trial] = self._by_node(plan, recorded)
        if self._rules.only_moves:
            trials = self._without_refused(list(trials), wanted)
        for trial in trials:
            if self._may_fit(wanted, trial):
                yield trial

    def _by_node(self, plan: Plan, recorded: list[Task]) -> Iterator[Trial]:
        latest, row_of = plan.latest, self._session.nodes.row_of
        nodes = [""] if latest is None else sorted({t.node for t in latest.tasks.values()})
        for node in nodes:
            groups = [] if latest is None else plan.groups_on(node)
            of_groups = dict.fromkeys(task for group in groups for task in group.tasks)
            # Tasks on other nodes than those of the session cannot be evicted in a simulation.
            if any(task.node not in row_of for task in of_groups):
                return
            new = [task for task in of_groups if task.uid not in plan.recorded_uids]
            yield Trial(groups, [*recorded, *new], self._freed_by(of_groups))

    def _freed_by(self, evicted: Iterable[Task]) -> set[int]:
        """The rows of the victims that are not open to the claimant anyway."""
        row_of, feasible, opened = self._session.nodes.row_of, self._feasible, self._opened
        freed = {row_of[task.node] for task in evicted if task.node in row_of}
        return {row for row in freed if row not in feasible and row not in opened}

    # -- trials that cannot succeed

    def _without_refused(self, trials: list[Trial], wanted: Counter[Request]) -> list[Trial]:
        """The trials without the last ones, as far as the validator would refuse them anyway.

        It refuses plans that leave a victim without a node. A refusal has two effects, it ends the
        plan before the other nodes are tried and it opens rows: so where there is no node left to
        try and no row to open, a trial that cannot succeed need not be simulated.
        """
        while trials and not self._may_fit(wanted, trials[-1], all_stay=not trials[-1].freed):
            trials.pop()
        return trials

    def _may_fit(self, wanted: Counter[Request], trial: Trial, *, all_stay: bool = False) -> bool:
        """Whether the claimant may fit after the evictions; ``all_stay``: and all the victims."""
        if not self.bounded:
            return True
        if all_stay and not self._may_all_return(trial.evicted):
            return False
        return self._capacity.may_fit(wanted, trial.evicted, with_victims=all_stay)

    def _may_all_return(self, evicted: list[Task]) -> bool:
        """Whether the batches that a simulation places of the victims may have all of them."""
        if not self._rules.exact and any(t.gpu.shared or t.gpu_groups for t in evicted):
            return True
        by_job: dict[str, list[Task]] = {}
        for task in evicted:
            assert task.job is not None
            by_job.setdefault(task.job.uid, []).append(task)
        jobs, most = self._session.jobs, self._batches.max_restored
        return all(most(jobs[uid], tasks) == len(tasks) for uid, tasks in by_job.items())


def _rejected_by_request(
    session: Session, tasks: Iterable[Task]
) -> dict[Request, np.ndarray | None]:
    """The requests of the tasks, each with the nodes that reject all tasks that have it."""
    requests: dict[Request, np.ndarray | None] = {}
    for task in tasks:
        request, rejected = request_of(task), session.queries.static_rejections(task)
        known = requests.get(request, rejected)
        if known is None or rejected is None:
            requests[request] = None
        else:
            requests[request] = known & rejected
    return requests
