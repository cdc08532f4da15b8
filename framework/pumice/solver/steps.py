"""The steps of one search: each adds a task of the claimant, and the victims it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pumice.model.job import Job
from pumice.model.task import Task, TaskStatus
from pumice.session.statement import Statement
from pumice.solver.capacity_bound import Request, request_of
from pumice.solver.plan import LostVictims, Plan, VictimGroup
from pumice.solver.plan_filters import PlanFilter, PlanFilters
from pumice.solver.queue_tree import QueueTree
from pumice.solver.simulation import Outcome, Simulation
from pumice.solver.task_batches import TaskBatches
from pumice.solver.trials import Trial, Trials
from pumice.solver.victim_sequence import VictimSequence

if TYPE_CHECKING:
    from pumice.session.session import Session

_FIRST_QUESTION = 4
"""Of so many victims it is first asked whether there are too many already."""
_EVICTED_OR_MOVED = (TaskStatus.RELEASING, TaskStatus.PIPELINED)


class BudgetError(Exception):
    """The search has used up its simulations."""


class Rules(NamedTuple):
    """The arguments of :class:`~pumice.solver.search.Solver`."""

    victims: Callable[[Job], QueueTree]
    validator: Callable[[Plan], bool]
    allow_consolidating: bool
    only_moves: bool
    exact: bool
    budget: int
    refuses: Callable[[Job, Sequence[LostVictims]], bool] | None
    refuses_larger: Callable[[Plan], bool] | None = None


class Steps:
    """Finds a plan for one job inside a statement.

    Between two simulations the statement keeps the evictions that both have in common. Free
    resources and the order of victims must be read without evictions, so they are read before the
    first one. If more victims are needed than were read, the evictions are undone and twice as
    many victims are read.

    With ``exact`` unset, an undo may leave stale releases where GPUs are shared. From then on
    everything is undone after every plan, and free resources are read again.
    """

    def __init__(
        self,
        session: Session,
        rules: Rules,
        batches: TaskBatches,
        simulation: Simulation,
        statement: Statement,
        job: Job,
        tasks: list[Task],
        rows: np.ndarray,
    ) -> None:
        self._session = session
        self._rules = rules
        self._batches = batches
        self._simulation = simulation
        self._statement = statement
        self._job = job
        self._tasks = tasks
        self._rows = rows
        self._shortcuts = session.uses("solver_search")
        self._filters = PlanFilters(session, rows)
        self._trials = Trials(session, rules, batches, tasks, rows)
        self._sequence = self._new_sequence()
        self._part = job.subset(())
        """What is being placed of the job in this step."""
        self._minimums: Counter[str] = Counter()
        """How many of its tasks are of which sub-job."""
        self._wanted: Counter[Request] = Counter()
        """How many of them have which request."""
        self._recorded: list[VictimGroup] = []
        self._left_node: list[Task] = []
        """The recorded victims that were evicted or moved in the step that recorded them."""
        self._evicted: list[Task] = []
        """The tasks that the first operations of the statement evict."""
        self._inexact_undo = False
        """Whether an undo may have left stale releases."""
        # A ledger is told how many victims were considered.
        self._ends_early = self._shortcuts and rules.exact and session.ledger is None
        self._next_question = _FIRST_QUESTION
        """How many new victims a plan must have to be asked about."""
        self.simulations = 0
        self.refused = 0
        self.considered = 0
        """Groups of victims that were added to plans."""
        self.invalid = 0
        """Plans that place the claimant and that the validator refused."""

    def run(self) -> bool:
        """Whether there is a plan; the statement then holds it."""
        tasks = self._tasks
        if len(tasks) > 1 and self._shortcuts:
            self._sequence.look_ahead(len(tasks))
        return bool(tasks) and all(map(self._step, tasks))

    def _step(self, task: Task) -> bool:
        """Find victims for one task more, in addition to those of the steps before."""
        recorded = [task for group in self._recorded for task in group.tasks]
        self._undo_to(recorded)
        # KAI evicts a recorded victim that stayed on its node again, but does not open the node.
        self._trials.start_step(self._left_node)
        self._next_question = _FIRST_QUESTION
        if self._inexact_undo:
            self._filters = PlanFilters(self._session, self._rows)
        self._widen(task)
        plan = Plan(self._part, self._recorded, allow_consolidating=self._rules.allow_consolidating)
        self._restart_sequence(plan.recorded_uids)
        filters = self._filters.make(self._part)
        if self._passes(filters, plan) and self._try(plan, recorded):
            return True
        position = 0
        while self._has_visit(position):
            group = self._sequence.group(position)
            position += 1
            if group is None or group.tasks[0].uid in plan.recorded_uids:
                continue
            plan.add(group)
            self.considered += 1
            if self._refuses_larger(plan):
                return False
            if self._passes(filters, plan) and self._try(plan, recorded):
                return True
        return False

    def _widen(self, task: Task) -> None:
        """Let the part of the claimant that is being placed grow."""
        assert task.sub_job is not None
        self._minimums[task.sub_job.uid] += 1
        self._part.widen(task, self._minimums[task.sub_job.uid])
        self._wanted[request_of(task)] += 1

    def _refuses_larger(self, plan: Plan) -> bool:
        """Whether the validator is known to refuse this plan and all that follow in this step.

        It is asked the less often the more victims the plan has.
        """
        refuses, count = self._rules.refuses_larger, len(plan.potential)
        if count < self._next_question or refuses is None or not self._ends_early:
            return False
        self._next_question = count + max(count // 2, _FIRST_QUESTION)
        return refuses(plan)

    def _passes(self, filters: list[PlanFilter], plan: Plan) -> bool:
        if all(rule.may_work(plan) for rule in filters):
            return True
        self.refused += 1
        return False

    # -- the walk along the victims

    def _restart_sequence(self, recorded: set[str]) -> None:
        """Start again with the first victim, without those of the steps before."""
        if not self._sequence.serves(recorded) or (recorded and not self._shortcuts):
            self._undo_to([])
            self._sequence = self._new_sequence(recorded)

    def _new_sequence(self, recorded: Iterable[str] = ()) -> VictimSequence:
        victims = self._rules.victims(self._job)
        may_evict = _may_evict(self._session, self._rules, self._job)
        return VictimSequence(victims, self._batches, recorded, may_evict=may_evict)

    def _has_visit(self, position: int) -> bool:
        sequence = self._sequence
        if position < len(sequence):
            return True
        if not len(self._statement):
            return sequence.look_ahead(1)
        self._undo_to([])
        return sequence.look_ahead(len(sequence) + 1 if self._shortcuts else 1)

    # -- one plan

    def _try(self, plan: Plan, recorded: list[Task]) -> bool:
        """Simulate a plan, node by node of the newest victim."""
        if plan.latest is None and not recorded:
            return False
        trials = self._trials
        promising, refused = trials.of(plan, recorded, self._wanted)
        if promising and self._make_deferred(plan, recorded):
            promising, refused = trials.of(plan, recorded, self._wanted)
        for number, trial in enumerate(promising, 1):
            if number == 1:
                self._check_budget()
            # What a refusal does and a failure does not: end the plan, and open rows.
            matters = bool(number < len(promising) or refused or trial.freed)
            outcome = self._simulate(plan, trial, recorded, refusal_matters=matters)
            if outcome is Outcome.PLACED:
                if self._rules.validator(plan):
                    self._record([*plan.recorded, *trial.groups])
                    return True
                self.invalid += 1
                self._simulation.expects_refusals = True
            if outcome is not Outcome.NOT_PLACED:
                # KAI leaves the rows of a refused plan open for the rest of the step.
                trials.open(trial.freed)
                break
            trials.failed(trial)
        else:
            trials.defer(refused)
        if promising:
            self._undo_to(recorded)
        else:
            self.refused += 1
        return False

    def _make_deferred(self, plan: Plan, recorded: list[Task]) -> bool:
        """Make the trials that were put off, for the rows that they open; whether there were any.

        They are those of earlier plans of the same step.
        """
        plans = self._trials.take_deferred()
        for trials in plans:
            for number, trial in enumerate(trials):
                if not self._trials.opens_rows(trials[number:]):
                    break
                outcome = self._simulate(plan, trial, recorded, refusal_matters=True)
                if outcome is not Outcome.NOT_PLACED:
                    self._trials.open(trial.freed)
                    break
                self._trials.failed(trial)
        if plans:
            self._undo_to(recorded)
        return bool(plans)

    def _simulate(
        self, plan: Plan, trial: Trial, recorded: list[Task], *, refusal_matters: bool
    ) -> Outcome:
        """Evict for one trial, and place claimant and victims."""
        common = min(len(self._evicted), len(recorded))
        self._undo_after(common)
        self._evict(trial.evicted[common:])
        self.simulations += 1
        where = self._trials.where(trial)
        return self._simulation.run(
            self._statement,
            plan.preemptor,
            {group.job.uid for group in (*plan.recorded, *trial.groups)},
            where,
            losses=trial.losses,
            refusal_matters=refusal_matters,
            may_place_now=lambda: self._trials.may_place_now(trial, self._wanted, where),
        )

    def _record(self, groups: list[VictimGroup]) -> None:
        """Record every group of which a task was evicted or moved, with all its tasks.

        The next step evicts all of them again, also those that stayed on their node in this one.
        """
        self._recorded = []
        seen: set[str] = set()
        for group in groups:
            tasks = [task for task in group.tasks if task.uid not in seen]
            seen.update(task.uid for task in tasks)
            if any(task.status in _EVICTED_OR_MOVED for task in tasks):
                self._recorded.append(VictimGroup(group.job, tasks))
        self._left_node = [
            task
            for group in self._recorded
            for task in group.tasks
            if task.status in _EVICTED_OR_MOVED
        ]

    def _check_budget(self) -> None:
        budget = self._rules.budget
        if budget and self.simulations >= budget:
            raise BudgetError

    # -- evictions

    def _evict(self, tasks: Iterable[Task]) -> None:
        session, claimant = self._session, self._session.jobs[self._job.uid]
        for task in tasks:
            self._statement.evict(task, session.current_action, claimant=claimant)
            self._evicted.append(task)
            if not self._rules.exact and (task.gpu.shared or task.gpu_groups):
                self._inexact_undo = True
                self._trials.bounded = False

    def _undo_to(self, recorded: list[Task]) -> None:
        """Undo everything but the evictions that these victims have in common with the last."""
        evicted, common = self._evicted, 0
        if not self._inexact_undo and self._shortcuts:
            for one, other in zip(evicted, recorded, strict=False):
                if one is not other:
                    break
                common += 1
        self._undo_after(common)

    def _undo_after(self, count: int) -> None:
        """Undo everything but the first evictions."""
        self._statement.rollback(count)
        del self._evicted[count:]


def _may_evict(session: Session, rules: Rules, job: Job) -> Callable[[list[Task]], bool]:
    """Whether the promises of evictions let tasks be evicted for a job."""
    guard, claimant = session.evictions, session.jobs[job.uid]
    # A victim that finds another place counts as unharmed; plans are checked again.
    moves = rules.only_moves or rules.allow_consolidating

    def may_evict(tasks: list[Task]) -> bool:
        return not guard.active or not any(
            guard.objection(claimant, task, moves=moves) for task in tasks
        )

    return may_evict
