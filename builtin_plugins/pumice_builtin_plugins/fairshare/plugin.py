"""Fair shares of CPU, memory and GPUs in a tree of queues: order, limits and reclaim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import AliasChoices, Field, field_validator

from pumice import (
    Duration,
    Job,
    NodeView,
    Plugin,
    Queue,
    Refusal,
    Resource,
    Task,
    TaskStatus,
    hookimpl,
)
from pumice_builtin_plugins.fairshare.amounts import (
    NOTHING,
    Amounts,
    add_up,
    as_resource,
)
from pumice_builtin_plugins.fairshare.division import share_out
from pumice_builtin_plugins.fairshare.limits import over_quota, refusal
from pumice_builtin_plugins.fairshare.order import JobAmounts, QueueOrder
from pumice_builtin_plugins.fairshare.queues import count_jobs, exact, grow_tree, roots
from pumice_builtin_plugins.fairshare.reclaim import (
    Reclaimer,
    ReclaimValidator,
    copy_books,
    lump_of,
    lumps_by_queue,
    may_reclaim,
)
from pumice_builtin_plugins.fairshare.usage import (
    NONE,
    UsageHistory,
    Window,
    WindowType,
    find_usage,
)
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class FairShare(Plugin):
    """Divide the cluster among queues by quota, priority and over-quota weight.

    Each queue's fair share is divided among its children. The queue that would have the smallest
    part of what it may have is served first; a queue below its share may reclaim from one above.
    Volcano's queues take part by their weight, deserved, guarantee and capability.
    """

    shortcuts = (QUEUE_BOOKS,)

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
            description="How many times as saturated as the reclaimer a queue must be to lose "
            "over-quota room; at least 1.",
        )
        window: Duration = Field(
            0.0,
            alias="usage.windowSize",
            ge=0,
            description="Keep a history of what queues hold, this long (7d); 0: none.",
        )
        window_type: WindowType = Field(
            "sliding",
            alias="usage.windowType",
            description="Whether the window moves on or starts afresh when it is over.",
        )
        window_start: float = Field(
            0.0,
            alias="usage.tumblingWindowStartTime",
            description="A time, in epoch seconds, at which a tumbling window began.",
        )
        half_life: Duration = Field(
            0.0,
            alias="usage.halfLifePeriod",
            description="Age at which usage counts half; 0: it does not fade.",
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
        self._amounts = Amounts(session)
        self._jobs = JobAmounts(session, self._amounts)
        self._order = QueueOrder(remembers=session.uses("queue_books"))
        self._total = self._amounts.cluster_total(session)
        self._history = self._find_history()
        usage = find_usage(
            session.cluster.inventory.extra, session.memory, self._history, session.now
        )
        self._queues = grow_tree(session.queues.values(), usage, NONE)
        count_jobs(self._queues, session, self._amounts)
        share_out(self._total, roots(self._queues), exact(self.options.k), self._total)
        self._books = copy_books(self._queues)
        self._multiplier = exact(self.options.saturation_multiplier)

    def _find_history(self) -> UsageHistory | None:
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

    @hookimpl
    def on_session_close(self) -> None:
        if self._history is not None:
            self._history.record(self.session.now, self._total, self._queues)

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._count(task, 1)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._count(task, -1)

    def _count(self, task: Task, sign: int) -> None:
        job = task.job
        if job is not None:
            self._queues[job.queue].change(self._amounts.held(task), sign, job.preemptible)
            self._jobs.touch(job)

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
            add_up(map(jobs.held, left_victims)) if left_victims else NOTHING,
            add_up(map(jobs.held, right_victims)) if right_victims else NOTHING,
        )

    # -- limits and quotas

    @hookimpl
    def is_job_over_queue_capacity(self, job: Job, tasks: Sequence[Task]) -> Refusal | None:
        return refusal(self._queues[job.queue], job, self._amounts.total_quota(tasks))

    @hookimpl
    def is_non_preemptible_job_over_queue_quota(
        self, job: Job, tasks: Sequence[Task]
    ) -> Refusal | None:
        if job.preemptible:
            return None
        return over_quota(self._queues[job.queue], job, self._amounts.total_quota(tasks))

    @hookimpl
    def is_task_allocation_on_node_over_capacity(
        self, task: Task, job: Job, nodes: NodeView, row: int
    ) -> Refusal | None:
        return refusal(self._queues[job.queue], job, self._amounts.on_node(task, row))

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool | None:
        """The same limits for the actions that place task by task."""
        if task.job is None:
            return None
        return refusal(self._queues[queue.name], task.job, self._amounts.quota(task)) is None

    # -- reclaim

    @hookimpl
    def can_reclaim_resources(self, job: Job) -> bool:
        required = self._jobs.next_request(job)
        return may_reclaim(self._queues[job.queue], required, job.preemptible)

    @hookimpl
    def reclaim_victim_filter(self, job: Job, victim: Job) -> bool:
        """Volcano's queues may be closed to reclaim; KAI's never are."""
        return self._queues[victim.queue].queue.reclaimable

    @hookimpl
    def on_job_solution_start(self) -> None:
        self._books = copy_books(self._queues)

    @hookimpl
    def reclaim_scenario_validator(self, plan: Any) -> bool:
        job: Job = plan.preemptor
        # Simulated, its tasks are promised room already; what a part of a job knows is older.
        waiting = job.having(TaskStatus.PENDING, TaskStatus.PIPELINED)
        required = lump_of(waiting, self._amounts, waiting=True)
        reclaimer = Reclaimer(self._queues[job.queue], required, job.preemptible)
        judge = ReclaimValidator(self._queues, self._books, self._multiplier)
        return judge.allows(reclaimer, lumps_by_queue(plan, self._amounts))

    # -- for messages

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.allocated)

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.terms.deserved)

    @hookimpl
    def get_queue_fair_share(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else as_resource(found.fair_share)
