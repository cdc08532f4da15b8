"""Fair shares of CPU, memory and GPUs in a tree of queues: order, limits and reclaim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import AliasChoices, Field, field_validator

from pumice import (
    Duration,
    EvictionContext,
    EvictionKind,
    Job,
    LostVictims,
    NodeView,
    Plan,
    Plugin,
    Queue,
    Refusal,
    Resource,
    Task,
    TaskStatus,
    VoteDetails,
    hookimpl,
)
from pumice_builtin_plugins.fairshare.division import set_fair_shares
from pumice_builtin_plugins.fairshare.limits import (
    entitlement,
    exceeded,
    over_quota,
    refusal,
)
from pumice_builtin_plugins.fairshare.order import JobQuantities, QueueOrder
from pumice_builtin_plugins.fairshare.quantities import (
    NOTHING,
    TaskQuantities,
    add_up,
    as_resource,
    plus,
    within,
)
from pumice_builtin_plugins.fairshare.queues import (
    below_common_ancestor,
    build_tree,
    count_jobs,
    exact,
    top_queues,
)
from pumice_builtin_plugins.fairshare.reclaim import (
    Reclaimer,
    ReclaimValidator,
    copy_allocations,
    eviction_unit,
    least_losses,
    may_reclaim,
    units_by_queue,
)
from pumice_builtin_plugins.fairshare.usage import (
    NO_USAGE,
    UsageHistory,
    Window,
    WindowType,
    read_usage,
)
from pumice_builtin_plugins.quota.eviction import RECLAIM_KINDS, returned_with
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class FairShare(Plugin):
    """Divide the cluster among queues by quota, priority and over-quota weight.

    Each queue's fair share is divided among its children. The queue with the smallest dominant
    share is served first; a queue below its fair share may reclaim from queues above theirs.
    Volcano's queues take part with their weight, deserved, guarantee and capability.
    """

    shortcuts = (QUEUE_BOOKS,)

    beyond_upstream = frozenset({"protected"})

    class Options(Plugin.Options):
        k: float = Field(
            1.0,
            alias="kValue",
            description="How strongly recent usage shifts over-quota shares; 0: not at all.",
        )
        saturation_multiplier: float = Field(
            1.0,
            alias="relcaimerSaturationMultiplier",
            validation_alias=AliasChoices(
                "relcaimerSaturationMultiplier", "reclaimerSaturationMultiplier"
            ),
            description="How many times the reclaimer's utilization ratio a queue must have to "
            "lose over-quota resources; at least 1.",
        )
        enforce_limits: bool = Field(
            False,
            alias="enforceLimits",
            description="Refuse every placement beyond a limit, or beyond a quota for a job that "
            "cannot be preempted, whichever plugins and actions the policy has; KAI leaves that to "
            "its filters.",
        )
        upstream_gpu_memory: bool = Field(
            False,
            alias="upstreamGpuMemory",
            description="Copy KAI's flaw that a waiting pod which asks for GPU memory counts as "
            "one GPU for each 100 MiB; else the smallest GPU that has so much counts.",
        )
        window: Duration = Field(
            0.0,
            alias="usage.windowSize",
            ge=0,
            description="How far back the history of allocated resources goes (7d); 0: none.",
        )
        window_type: WindowType = Field(
            "sliding",
            alias="usage.windowType",
            description="Whether the window slides or starts again when it has ended.",
        )
        window_start: float = Field(
            0.0,
            alias="usage.tumblingWindowStartTime",
            description="The start of some tumbling window, in epoch seconds.",
        )
        half_life: Duration = Field(
            0.0,
            alias="usage.halfLifePeriod",
            description="Age at which usage counts half; 0: no decay.",
        )
        resolution: Duration = Field(
            60.0, alias="usage.queryResolution", gt=0, description="Time between two samples."
        )

        @field_validator("k")
        @classmethod
        def _at_least_zero(cls, value: float) -> float:
            return max(value, 0.0)

        @field_validator("saturation_multiplier")
        @classmethod
        def _at_least_one(cls, value: float) -> float:
            return max(value, 1.0)

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._quantities = TaskQuantities(
            session, upstream_gpu_memory=self.options.upstream_gpu_memory
        )
        self._jobs = JobQuantities(session, self._quantities)
        self._order = QueueOrder(cached=session.uses("queue_books"))
        self._total = self._quantities.cluster_total(session)
        self._history = self._usage_history()
        usage = read_usage(
            session.cluster.inventory.queue_usage, session.memory, self._history, session.now
        )
        self._queues = build_tree(session.queues.values(), usage, NO_USAGE)
        count_jobs(self._queues, session, self._quantities)
        k = exact(self.options.k)
        set_fair_shares(self._total, top_queues(self._queues), k, self._total)
        self._allocated_before = copy_allocations(self._queues)
        self._multiplier = exact(self.options.saturation_multiplier)

    # -- order

    @hookimpl
    def queue_order(
        self,
        left: Queue,
        right: Queue,
        left_job: Job | None,
        right_job: Job | None,
        left_victims: Sequence[Job],
        right_victims: Sequence[Job],
    ) -> int:
        l_queue, r_queue = self._queues.get(left.name), self._queues.get(right.name)
        if l_queue is None or r_queue is None:
            return 1 if l_queue is None else -1
        jobs = self._jobs
        return self._order.compare(
            l_queue,
            r_queue,
            jobs.next_request(left_job),
            jobs.next_request(right_job),
            jobs.total_allocated(left_victims) if left_victims else NOTHING,
            jobs.total_allocated(right_victims) if right_victims else NOTHING,
        )

    @hookimpl
    def queue_order_key(self, queue: Queue, job: Job | None) -> Any:
        found = self._queues.get(queue.name)
        return None if found is None else self._order.rank(found, self._jobs.next_request(job))

    # -- limits and quotas

    @hookimpl
    def is_job_over_queue_capacity(self, job: Job, tasks: Sequence[Task]) -> Refusal | None:
        return refusal(self._queues[job.queue], job, self._quantities.total_quota(tasks))

    @hookimpl
    def is_non_preemptible_job_over_queue_quota(
        self, job: Job, tasks: Sequence[Task]
    ) -> Refusal | None:
        if job.preemptible:
            return None
        return over_quota(self._queues[job.queue], job, self._quantities.total_quota(tasks))

    @hookimpl
    def is_task_allocation_on_node_over_capacity(
        self, task: Task, job: Job, nodes: NodeView, row: int
    ) -> Refusal | None:
        return refusal(self._queues[job.queue], job, self._quantities.on_node(task, row))

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool | None:
        """The same limits for actions that place tasks one by one."""
        if task.job is None:
            return None
        return refusal(self._queues[queue.name], task.job, self._quantities.quota(task)) is None

    # -- reclaim

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Nothing is reclaimed from a queue that holds no more than it deserves.

        So much must hold for every queue up to those that both jobs' queues are below. And a queue
        above its share moves no tasks of other queues.
        """
        if context.job is not None and context.kind is EvictionKind.MOVE:
            return self._objection_to_move(task, context.job, planned=bool(context.victims))
        if context.job is None or context.kind not in RECLAIM_KINDS:
            return None
        victim = self._queues[task.queue]
        theirs = below_common_ancestor(self._queues[context.job.queue], victim)[1]
        returned = add_up(map(self._quantities.accepted, returned_with(task, context)))
        for queue in victim.path:
            if within(plus(queue.allocated, returned), queue.allocatable):
                return f"queue {queue.name} holds no more than it deserves"
            if queue is theirs:
                break
        return None

    def _objection_to_move(self, task: Task, job: Job, *, planned: bool) -> str | None:
        """Why no task of another queue moves for a job; ``planned``: it has its place already."""
        queue = self._queues[job.queue]
        if task.queue == job.queue:
            return None
        waiting = NOTHING if planned else self._jobs.next_request(job)
        if within(plus(queue.allocated, waiting), queue.fair_share):
            return None
        return (
            f"queue {queue.name} would hold more than its share, so it moves no other queue's tasks"
        )

    @hookimpl
    def can_reclaim_resources(self, job: Job) -> bool:
        required = self._jobs.next_request(job)
        return may_reclaim(self._queues[job.queue], required, job.preemptible)

    @hookimpl
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool:
        """Volcano's queues may forbid reclaim; KAI's never do."""
        return self._queues[victim.queue].queue.reclaimable

    @hookimpl
    def on_job_solution_start(self) -> None:
        self._allocated_before = copy_allocations(self._queues)

    @hookimpl
    def reclaim_scenario_validator(self, plan: Plan) -> bool:
        return self._reclaim_validator().allows(
            self._reclaimer(plan.preemptor), units_by_queue(plan, self._quantities)
        )

    @hookimpl
    def refuses_reclaim(self, job: Job, lost: Sequence[LostVictims]) -> bool:
        return self._reclaim_validator().refuses(
            self._reclaimer(job), least_losses(lost, self._quantities)
        )

    @hookimpl
    def refuses_larger_plans(self, plan: Plan) -> bool:
        """Where moved victims count like others, all victims do, also those that stay."""
        if plan.allow_consolidating:
            return False
        return self._reclaim_validator().refuses_more(
            self._reclaimer(plan.preemptor), units_by_queue(plan, self._quantities)
        )

    def _reclaim_validator(self) -> ReclaimValidator:
        return ReclaimValidator(self._queues, self._allocated_before, self._multiplier)

    def _reclaimer(self, job: Job) -> Reclaimer:
        # Tasks placed by the simulation are pipelined; a partial job's own sums are outdated.
        waiting = job.having(TaskStatus.PENDING, TaskStatus.PIPELINED)
        required = eviction_unit(waiting, self._quantities, pending=True)
        return Reclaimer(self._queues[job.queue], required, job.preemptible)

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> str | None:
        self._count(task, 1)
        if not self.options.enforce_limits or task.job is None:
            return None
        added = self._quantities.accepted(task)
        return exceeded(self._queues[task.job.queue], task.job, added)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._count(task, -1)

    @hookimpl
    def on_session_close(self) -> None:
        if self._history is not None:
            self._history.record(self.session.now, self._total, self._queues)

    # -- messages

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.allocated)

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.quota.deserved)

    @hookimpl
    def get_queue_fair_share(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.fair_share)

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point == "allocatable" and args[1].job is not None:
            queue, task = self._queues[args[0].name], args[1]
            found = refusal(queue, task.job, self._quantities.quota(task))
            return (
                None if found is None else VoteDetails(found.message, found.details, found.reason)
            )
        if point == "reclaim_victim_filter":
            return VoteDetails(f"queue {args[1].queue} does not let others reclaim")
        if point == "can_reclaim_resources":
            queue = self._queues[args[0].queue]
            return entitlement(queue, self._jobs.next_request(args[0]), args[0].preemptible)
        return None

    # -- helpers

    def _usage_history(self) -> UsageHistory | None:
        """The history, which lives across cycles; a new one where the window was changed."""
        options, memory = self.options, self.session.memory
        if not options.window:
            return None
        window = Window(
            options.window,
            options.window_type,
            options.half_life,
            options.window_start,
            options.resolution,
        )
        history = memory.get(self.name)
        if not isinstance(history, UsageHistory) or history.window != window:
            history = memory[self.name] = UsageHistory(window)
        return history

    def _count(self, task: Task, sign: int) -> None:
        job = task.job
        if job is not None:
            self._queues[job.queue].count(self._quantities.accepted(task), sign, job.preemptible)
