"""Which tasks may be evicted, and for which job."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.combine import (
    All,
    Any_,
    FirstError,
    FirstPlugin,
    Notify,
    TieredIntersection,
    UnionOfFirstTier,
)
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.model.task import Task
    from pumice.solver.plan import LostVictims, Plan
    from pumice.verdicts import EvictionContext


class EvictionSpecs:
    """Victim votes of the Volcano actions, victim filters and validators of the KAI actions."""

    @extension_point(TieredIntersection())
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Which of these running tasks of the same queue may be evicted for ``preemptor``.

        Asked by preempt, once for each node that is tried. None abstains. An empty sequence
        vetoes this tier; the next tier starts over.

        Default: no victims.
        """

    @extension_point(TieredIntersection())
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Which of these running tasks of other queues may be evicted for ``reclaimer``.

        Asked by reclaim, once for each node that is tried. None abstains. An empty sequence
        vetoes this tier; the next tier starts over.

        Default: no victims.
        """

    @extension_point(TieredIntersection())
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task] | None:
        """Which of these tasks may be evicted in the given context.

        Asked by gangpreempt and gangreclaim, once for each topology domain that is tried. The
        context has the kind of eviction, the job that gains and the domain. None abstains. An
        empty sequence vetoes this tier; the next tier starts over.

        Default: no victims.
        """

    @extension_point(FirstError())
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Why a task must not be evicted; None: this plugin has no objection.

        A reason is final, whatever tier the plugin stands in and whichever action asks. Asked
        while victims are sought, and again about every victim before a plan is carried out; then
        the victims are Releasing already and ``context.victims`` has all of them.

        Default: no task is protected.
        """

    @extension_point(UnionOfFirstTier())
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task] | None:
        """Which of all running tasks should be evicted to rebalance the cluster.

        Asked by shuffle once per cycle. None or an empty sequence: no task.

        Default: nothing is evicted.
        """

    @extension_point(FirstPlugin())
    def can_reclaim_resources(self, job: Job) -> bool | None:
        """Whether the job's queue is entitled to what the job requests.

        Asked by solve_reclaim before it searches. Only the first plugin is asked.

        Default: no, so solve_reclaim does nothing.
        """

    @extension_point(All())
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool | None:
        """Whether ``victim``, a job of another queue, may lose tasks to ``job``.

        Asked by solve_reclaim for every candidate. False: it keeps its tasks.

        Default: it may.
        """

    @extension_point(All())
    def preempt_victim_filter(self, job: Job, victim: Job) -> bool | None:
        """Whether ``victim``, a job of the same queue, may lose tasks to ``job``.

        Asked by solve_preempt for every candidate. False: it keeps its tasks.

        Default: it may.
        """

    @extension_point(All())
    def reclaim_scenario_validator(self, plan: Plan) -> bool | None:
        """Whether a simulated reclaim plan may be carried out.

        Asked by solve_reclaim for every plan that places the job. False drops the plan.

        Default: it may.
        """

    @extension_point(Any_())
    def refuses_reclaim(self, job: Job, lost: Sequence[LostVictims]) -> bool | None:
        """Whether ``reclaim_scenario_validator`` would refuse every plan with these losses.

        Asked by solve_reclaim before and during a simulation, to end it early. ``job`` is the
        part of the claimant that is being placed; ``lost`` is in the order of ``plan.victims``.
        Answer True only if no further loss, in whatever queue, could make such a plan valid.

        Default: not known.
        """

    @extension_point(Any_())
    def refuses_larger_plans(self, plan: Plan) -> bool | None:
        """Whether ``reclaim_scenario_validator`` would refuse this plan and every larger one.

        Asked by solve_reclaim while it adds victims to a plan, before any of them is evicted, to
        end a search that cannot succeed. A larger plan places the same part of the claimant and
        has the same victims and more, of other queues than the claimant's. Answer True only if it
        is refused whatever becomes of its victims: some may be moved, others left alone.

        Default: not known.
        """

    @extension_point(All())
    def preempt_scenario_validator(self, plan: Plan) -> bool | None:
        """Whether a simulated preemption plan may be carried out.

        Asked by solve_preempt for every plan that places the job. False drops the plan.

        Default: it may.
        """

    @extension_point(Notify())
    def on_job_solution_start(self) -> None:
        """solve_reclaim is about to search for a plan for one job.

        Called once per job, before anything is simulated: the time to save the queues' shares.

        Default: nothing happens.
        """
