"""The trials of a plan: which victims are evicted together, and which trials cannot succeed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pumice.model.task import Task
from pumice.solver.capacity_bound import CapacityBound, Request, RequestCounts, request_of
from pumice.solver.plan import Plan, VictimGroup
from pumice.solver.refusals import Losses, Refusals
from pumice.solver.releases import Releases
from pumice.solver.task_batches import TaskBatches

if TYPE_CHECKING:
    from pumice.session.session import Session
    from pumice.solver.steps import Rules


@dataclass(slots=True, eq=False)
class Trial:
    """Victims of a plan that one simulation evicts."""

    groups: list[VictimGroup]
    evicted: list[Task]
    """All that are evicted, those of the steps before first."""
    freed: set[int]
    """The rows that are open to the claimant only because of these victims."""
    key: Hashable = None
    """Trials of one step with the same key are the same."""
    shares_gpus: bool = False
    """Whether one of them shares GPUs."""
    losses: Losses | None = None
    """What is known to be lost; None: nothing can be known."""


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
        self._refusals = Refusals(session, rules, batches)
        self._rows = rows
        self._feasible = frozenset(rows.tolist())
        self._opened: set[int] = set()
        self._deferred: list[list[Trial]] = []
        self._failed: set[Hashable] = set()
        """Keys of the trials of this step that cannot place, or have not placed, the claimant."""
        self._releases: Releases | None = None
        self.bounded = session.uses("solver_search")
        """Whether trials are left out; not if an undo may have left stale releases."""
        requests = _rejected_by_request(session, tasks) if self.bounded else {}
        self._capacity = CapacityBound(session.nodes, requests, rows)

    def start_step(self, left_node: Iterable[Task]) -> None:
        """Open the nodes that these tasks left, and close all others that were opened."""
        self._opened = set()
        self._opened = self._freed_by(left_node)
        self._deferred = []
        self._failed = set()
        self._refusals.start_step()

    def open(self, freed: set[int]) -> None:
        """Open more rows to the claimant for the rest of the step."""
        self._opened |= freed
        self._open_in_bound(freed)

    def _open_in_bound(self, freed: set[int]) -> None:
        if freed:
            self._capacity.open(freed)
            self._failed.clear()

    def failed(self, trial: Trial) -> None:
        """Do not make the same trial again in this step, unless more rows are opened."""
        self._failed.add(trial.key)

    def where(self, trial: Trial) -> np.ndarray:
        """The rows that are open to the claimant, in order."""
        added = trial.freed | self._opened
        if not added:
            return self._rows
        return np.sort(np.concatenate((self._rows, np.array(list(added), np.intp))))

    def may_place_now(self, trial: Trial, wanted: RequestCounts, where: np.ndarray) -> bool:
        """Whether the claimant may fit these rows, in the simulation of a trial, as they are now.

        Until its turn comes, placements only take from the nodes. Where GPUs are shared, that is
        not known.
        """
        if not self.bounded or trial.shares_gpus:
            return True
        return self._capacity.may_fit_now(wanted, where)

    def of(
        self, plan: Plan, recorded: list[Task], wanted: Counter[Request]
    ) -> tuple[list[Trial], list[Trial]]:
        """What to evict together for each node of the newest victim.

        The second list has the last trials, as far as all of them are known to be refused.
        """
        if self._releases is None or self._releases.plan is not plan:
            self._releases = Releases(self._session.nodes, self._capacity, plan)
        self._releases.refresh()
        if self.bounded and not self._releases.may_all_fit(wanted):
            return [], []
        trials = list(self._by_node(plan, recorded, wanted))
        if not self.bounded:
            return trials, []
        count = len(trials)
        while count and self._is_refused(wanted, trials[count - 1]):
            count -= 1
        return trials[:count], trials[count:]

    def defer(self, trials: list[Trial]) -> None:
        """Put off trials that are known to be refused.

        A refusal, unlike a failure to place the claimant, ends the plan and opens rows. Trials
        that open no row need not be made at all, others not before the rows make a difference.
        """
        if any(trial.freed for trial in trials):
            self._deferred.append(trials)
            for trial in trials:
                self._open_in_bound(trial.freed)

    def take_deferred(self) -> list[list[Trial]]:
        """The trials that were put off, by plan; they are not deferred any more."""
        taken, self._deferred = self._deferred, []
        return taken

    def opens_rows(self, trials: Iterable[Trial]) -> bool:
        """Whether a refusal of one of these trials would open a row that is closed now."""
        opens = False
        for trial in trials:
            trial.freed -= self._opened
            opens = opens or bool(trial.freed)
        return opens

    def _by_node(
        self, plan: Plan, recorded: list[Task], wanted: Counter[Request]
    ) -> Iterator[Trial]:
        """The trials for the nodes of the newest victim, without those that cannot fit."""
        latest, releases = plan.latest, self._releases
        assert releases is not None
        made: set[Hashable] = set()
        tasks = () if latest is None else latest.tasks.values()
        for node in sorted({task.node for task in tasks} if tasks else [""]):
            jobs = plan.jobs_on(node)
            # Tasks on other nodes than those of the session cannot be evicted in a simulation.
            if releases.elsewhere and not releases.elsewhere.isdisjoint(jobs):
                return
            key = trial_key(plan, jobs)
            if self.bounded:
                if key in self._failed or key in made:
                    continue
                made.add(key)
                if not releases.may_fit(wanted, jobs):
                    self._failed.add(key)
                    continue
            new = [task for uid in jobs for task in plan.victims[uid].tasks]
            if recorded:
                new = [task for task in new if task.uid not in plan.recorded_uids]
            rows = set[int]().union(*(releases.rows[uid] for uid in jobs))
            freed = rows - self._feasible - self._opened
            trial = Trial(plan.groups_on(node), [*recorded, *new], freed, key)
            if self.bounded:
                shared = trial.shares_gpus = releases.share_gpus(jobs)
                trial.losses = self._refusals.losses(plan, jobs, shared=shared)
            yield trial

    def _freed_by(self, evicted: Iterable[Task]) -> set[int]:
        """The rows of the victims that are not open to the claimant anyway."""
        row_of, feasible, opened = self._session.nodes.row_of, self._feasible, self._opened
        freed = {row_of[task.node] for task in evicted if task.node in row_of}
        return {row for row in freed if row not in feasible and row not in opened}

    # -- trials that cannot succeed

    def _is_refused(self, wanted: Counter[Request], trial: Trial) -> bool:
        """Whether the validator refuses the trial, should it place the claimant."""
        losses = trial.losses
        if losses is None:
            return False
        if losses.refused:
            return True
        # Where no loss is allowed, all victims must fit as well.
        return losses.any_is_refused() and not self._capacity.may_fit_with(wanted, trial.evicted)


def trial_key(plan: Plan, jobs: Iterable[str]) -> Hashable:
    """What trials of one step differ in: the victims of these jobs, which only grow in number."""
    victims = plan.victims
    return tuple([(uid, len(victims[uid].tasks)) for uid in jobs])


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
