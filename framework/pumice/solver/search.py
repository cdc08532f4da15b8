"""The solver: add the claimant's tasks one by one, and for each the victims until it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pumice.model.gang import is_gang_satisfied, used_count
from pumice.model.job import Job
from pumice.model.task import Task
from pumice.session.statement import Statement
from pumice.solver.gang_placement import GangPlacer
from pumice.solver.plan import LostVictims, Plan
from pumice.solver.queue_tree import QueueTree, takes_jobs
from pumice.solver.simulation import Simulation
from pumice.solver.steps import BudgetError, Rules, Steps

if TYPE_CHECKING:
    from pumice.session.session import Session


class Solver:
    """Finds victims for one action.

    ``victims`` makes a new queue tree of candidate victim jobs for a claimant; ``validator``
    accepts or refuses a plan that places it. ``only_moves``: the validator refuses every plan that
    leaves a victim without a node, so that plans that cannot place all need not be simulated.
    ``refuses`` is asked whether the validator refuses every plan that places the job but leaves
    these victims without a node (see ``refuses_reclaim``), ``refuses_larger`` whether it refuses a
    plan and every one with more victims (see ``refuses_larger_plans``).
    ``budget`` limits the simulations for one job; 0 is no limit. ``stale_releases`` copies a flaw
    of KAI's accounting: a victim that a dropped simulation moved between GPUs of its node stays
    counted as releasing for the rest of the cycle (``exact=False`` of
    :class:`~pumice.session.statement.Statement`). ``bystanders`` copies another one: pending jobs
    that are not part of a plan influence the order in which claimant and victims are placed.
    """

    def __init__(
        self,
        session: Session,
        placer: GangPlacer,
        *,
        victims: Callable[[Job], QueueTree],
        validator: Callable[[Plan], bool],
        allow_consolidating: bool = True,
        only_moves: bool = False,
        refuses: Callable[[Job, Sequence[LostVictims]], bool] | None = None,
        refuses_larger: Callable[[Plan], bool] | None = None,
        budget: int = 0,
        stale_releases: bool = False,
        bystanders: bool = False,
    ) -> None:
        self._session = session
        self._placer = placer
        self._rules = Rules(
            victims,
            validator,
            allow_consolidating,
            only_moves,
            exact=not stale_releases,
            budget=budget,
            refuses=refuses,
            refuses_larger=refuses_larger,
        )
        self._simulation = Simulation(session, placer, bystanders=bystanders)
        self.simulations = 0
        """Simulations run so far, over all jobs."""
        self.refused = 0
        """Plans that were dropped without a simulation."""
        self.considered = 0
        """Groups of victims that the last search considered."""
        self.exhausted = False
        """Whether the last search ended because its budget was used up."""

    @cached_property
    def shares_gpus(self) -> bool:
        """Whether any task of the session requests a share of a GPU."""
        return any(task.gpu.shared for task in self._session.cluster.tasks.values())

    @property
    def leaves_stale_releases(self) -> bool:
        """Whether a failed search may leave stale releases that change later ones."""
        return not self._rules.exact and self.shares_gpus

    def batch(self, job: Job) -> list[Task]:
        """The tasks that a search for the job would have to place together."""
        return self._placer.batches.to_allocate(job, real=False)

    def solve(self, job: Job, feasible: Iterable[int]) -> Statement | None:
        """A statement that evicts for the job's next batch and pipelines it, or None."""
        self.exhausted, self.considered = False, 0
        if not takes_jobs(self._session, job.queue):
            return None
        used_before = used_count(job)
        tasks = self.batch(job)
        rows = sorted_rows(feasible)
        exact = self._rules.exact
        with Statement(self._session, exact=exact) as statement:
            steps = Steps(
                self._session,
                self._rules,
                self._placer.batches,
                self._simulation,
                statement,
                job,
                tasks,
                rows,
            )
            try:
                found = steps.run()
            except BudgetError:
                self.exhausted, found = True, False
            finally:
                self.simulations += steps.simulations
                self.refused += steps.refused
                self.considered = steps.considered
                self._record(job, steps)
            if found and is_gang_satisfied(job) and used_count(job) > used_before:
                saved = Statement(self._session, exact=exact)
                saved.merge(statement)
                return saved
            # Rolled back, not discarded: tasks must not record a simulation as a last transaction.
            statement.rollback(0)
        return None

    def _record(self, job: Job, steps: Steps) -> None:
        ledger = self._session.ledger
        if ledger is not None:
            ledger.search(
                job,
                considered=steps.considered,
                simulated=steps.simulations,
                dropped=steps.refused,
                refused=steps.invalid,
            )


def sorted_rows(rows: Iterable[int]) -> np.ndarray:
    """Rows in ascending order, each once."""
    if isinstance(rows, np.ndarray):
        given = rows.astype(np.intp, copy=False)
        if bool((given[1:] > given[:-1]).all()):
            return given
        rows = given.tolist()
    # Not np.unique: its first call imports numpy.ma, which costs more than many a search.
    return np.array(sorted(set(rows)), np.intp)
