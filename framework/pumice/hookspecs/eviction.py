"""Who may be evicted, for whom."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pumice.combine import All, FirstPlugin, Notify, TieredIntersection, UnionOfFirstTier
from pumice.hookspecs._point import extension_point

if TYPE_CHECKING:
    from pumice.model.job import Job
    from pumice.model.task import Task
    from pumice.solver.plan import Plan
    from pumice.verdicts import EvictionContext


class EvictionSpecs:
    """Victim votes of the Volcano family, victim filters and validators of the KAI family."""

    @extension_point(TieredIntersection())
    def preemptable(self, preemptor: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Which of these running tasks of the same queue may be evicted for ``preemptor``.

        Asked by preempt, once per node that is tried. None abstains. An empty sequence vetoes
        this tier; the next tier is asked afresh.

        Default: no victims.
        """

    @extension_point(TieredIntersection())
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task] | None:
        """Which of these running tasks of other queues may be evicted for ``reclaimer``.

        Asked by reclaim, once per node that is tried. None abstains. An empty sequence vetoes
        this tier; the next tier is asked afresh.

        Default: no victims.
        """

    @extension_point(TieredIntersection())
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task] | None:
        """Which of these tasks may be evicted in the given context.

        Asked by gangpreempt and gangreclaim, once per domain of nodes that is tried. The context
        tells the kind of eviction, the job it is for and the domain. None abstains. An empty
        sequence vetoes this tier.

        Default: no victims.
        """

    @extension_point(UnionOfFirstTier())
    def victim_tasks(self, tasks: Sequence[Task]) -> Sequence[Task] | None:
        """Which of all running tasks should be evicted for the good of the cluster.

        Asked by shuffle once a cycle. None or an empty sequence names nobody.

        Default: nothing is evicted.
        """

    @extension_point(FirstPlugin())
    def can_reclaim_resources(self, job: Job) -> bool | None:
        """Whether the job's queue is entitled to what the job asks.

        Asked by the solver's reclaim before it searches. Only the first plugin is asked.

        Default: no (reclaim does nothing).
        """

    @extension_point(All())
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool | None:
        """Whether ``victim``, a job of another queue, may lose tasks to ``job``.

        Asked by the solver's reclaim for every candidate. False spares the victim.

        Default: it may.
        """

    @extension_point(All())
    def preempt_victim_filter(self, job: Job, victim: Job) -> bool | None:
        """Whether ``victim``, a job of the same queue, may lose tasks to ``job``.

        Asked by the solver's preempt for every candidate. False spares the victim.

        Default: it may.
        """

    @extension_point(All())
    def reclaim_scenario_validator(self, plan: Plan) -> bool | None:
        """Whether a whole reclaim plan, as simulated, is acceptable.

        Asked by the solver's reclaim for every plan that places the job. False drops the plan.

        Default: it is.
        """

    @extension_point(All())
    def preempt_scenario_validator(self, plan: Plan) -> bool | None:
        """Whether a whole preemption plan, as simulated, is acceptable.

        Asked by the solver's preempt for every plan that places the job. False drops the plan.

        Default: it is.
        """

    @extension_point(Notify())
    def on_job_solution_start(self) -> None:
        """The solver's reclaim is about to search for one job.

        Told once per job, before anything is simulated: the moment to remember shares.

        Default: nothing happens.
        """
