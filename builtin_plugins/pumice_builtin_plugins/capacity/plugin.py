"""Queues with capability, deserved and guarantee, flat or in a tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from loguru import logger
from pydantic import Field, field_validator

from pumice import (
    PERMIT,
    EvictionContext,
    EvictionKind,
    Job,
    Plugin,
    Queue,
    Refusal,
    Resource,
    Task,
    VoteDetails,
    common_depth,
    hookimpl,
)
from pumice.manifests import QUEUE_GATE
from pumice_builtin_plugins.capacity.allocations import Allocations
from pumice_builtin_plugins.capacity.devices import ClaimReader
from pumice_builtin_plugins.capacity.queues import (
    CapacityQueue,
    below_common_ancestor,
)
from pumice_builtin_plugins.capacity.reclaim import VictimSelection
from pumice_builtin_plugins.capacity.tree import flat_queues, queue_tree
from pumice_builtin_plugins.kube.feature_gates import is_enabled
from pumice_builtin_plugins.quota.details import bound_details, enqueue_details, queue_not_open
from pumice_builtin_plugins.quota.eviction import RECLAIM_KINDS, returned_with
from pumice_builtin_plugins.quota.min_resources import (
    deduct_gated,
    min_request,
    refuse,
    refuse_for,
)
from pumice_builtin_plugins.quota.resource_columns import ResourceColumns, fits
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class Capacity(Plugin):
    """Bound queues by their capability and let them reclaim up to what they deserve.

    In a tree the bounds of all ancestors hold, too, and jobs belong into leaves. A faulty tree
    (no ``root``, an unknown parent, a job in an inner queue) lets nothing start.
    """

    shortcuts = (QUEUE_BOOKS,)

    class Options(Plugin.Options):
        """How queues relate, and whether devices are counted."""

        hierarchy: bool = Field(False, description="Queues form a tree by their parents.")
        ancestor_reclaim_level: int = Field(
            0,
            alias="ancestorReclaimLevel",
            description="How many ancestors' deserved amounts count in reclaiming.",
        )
        shares_at_open: bool = Field(
            False,
            alias="upstreamShares",
            description="Copy Volcano's flaw of ordering leaves of different parents by the shares"
            " that the parents had at session open.",
        )
        devices: bool | None = Field(
            None,
            alias="capacity.DynamicResourceAllocationEnable",
            description="Count claimed devices; default: the feature gate's value.",
        )
        device_capacities: bool | None = Field(
            None,
            alias="capacity.DRAConsumableCapacityEnable",
            description="Count consumed device capacities; default: the feature gate's value.",
        )

        @field_validator("ancestor_reclaim_level")
        @classmethod
        def _not_negative(cls, value: int) -> int:
            return max(value, 0)

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def on_session_open(self) -> None:
        session, options = self.session, self.options
        self._columns = ResourceColumns(session)
        self._fault = ""
        if options.hierarchy:
            self._queues, self._fault = queue_tree(session, self._columns)
            # Volcano updates only the leaf's share when tasks start or end; conformance pins it.
            for queue in self._queues.values() if options.shares_at_open else ():
                queue.share_at_open = None if queue.is_leaf else queue.share
        else:
            self._queues = flat_queues(session, self._columns)
        if self._fault:
            logger.warning("{}: {}: nothing is started", self.name, self._fault)
            for job in session.jobs.values():
                job.refusals.append(Refusal("FaultyQueueTree", self._fault))
        self._levels = options.ancestor_reclaim_level if options.hierarchy else 0
        self._allocations = Allocations(self._queues, self._columns, self._claim_reader())
        self._allocations.count_devices(session)

    # -- admission of jobs

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        leaf = self._open_leaf(self.session.queue_of(job))
        if leaf is None:
            return refuse_for(job, self._fault or f"queue {job.queue} is not open")
        claims = self._allocations.claims_of_minimum(job)
        for queue in leaf.path:
            insufficient = queue.account.insufficient(min_request(job))
            insufficient += queue.devices.insufficient(claims, inqueue=True)
            if insufficient:
                what = f"queue {queue.name} resource quota insufficient"
                return refuse(job, what, "insufficient", insufficient)
        return PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        leaf = self._queues.get(job.queue)
        minimum = deduct_gated(job, min_request(job))
        for queue in leaf.path if leaf is not None else ():
            queue.account.inqueue.add(minimum)
        self._allocations.admit_devices(job)

    # -- order of queues

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        l_queue, r_queue = self._queues.get(left.name), self._queues.get(right.name)
        if l_queue is None or r_queue is None or l_queue is r_queue:
            return 0
        if l_queue.is_leaf != r_queue.is_leaf:
            return -1 if l_queue.is_leaf else 1
        l_queue, r_queue = below_common_ancestor(l_queue, r_queue)
        if l_queue.share != r_queue.share:
            return -1 if l_queue.share < r_queue.share else 1
        return l_queue.deserves_nothing - r_queue.deserves_nothing

    @hookimpl
    def victim_queue_order(self, left: Queue, right: Queue, preemptor_queue: Queue) -> int:
        """Volcano evicts from the closest relatives of the preemptor's queue first."""
        preemptor = self._queues.get(preemptor_queue.name)
        l_queue, r_queue = self._queues.get(left.name), self._queues.get(right.name)
        if preemptor is None or l_queue is None or r_queue is None:
            return 0
        return common_depth(r_queue.ancestors, preemptor.ancestors) - common_depth(
            l_queue.ancestors, preemptor.ancestors
        )

    # -- placement of tasks

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool:
        leaf = self._open_leaf(queue)
        if leaf is None:
            return False
        if not self._allocations.allocatable(leaf, task):
            return False
        if task.annotations.get(QUEUE_GATE) == "true":
            self._allocations.reserve(leaf, task)
        return True

    @hookimpl
    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        leaf = self._open_leaf(queue)
        if leaf is None:
            return False
        request = self._columns.total_request(tasks)
        if not fits(leaf.account.allocated, request, leaf.account.bound):
            return False
        if leaf.stays_deserved(request):
            return True
        ancestors = (leaf.ancestor(level) for level in range(1, self._levels + 1))
        return any(q.stays_deserved(request) for q in ancestors if q is not None)

    # -- victims

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Nothing is reclaimed from a queue that holds no more than it deserves."""
        if context.kind not in RECLAIM_KINDS or task.queue not in self._queues:
            return None
        selection = self._victim_selection()
        for returned in returned_with(task, context):
            selection.give_back(returned)
        if selection.exceeds_deserved(task):
            return None
        return f"queue {task.queue} holds no more than it deserves"

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        if self._fault or reclaimer.queue not in self._queues:
            return []
        session = self.session
        in_order = session.order.sorted_victims(candidates, reclaimer, session.queues)
        return self._victim_selection().reclaimable(reclaimer, in_order)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        if context.kind in (EvictionKind.GANG_PREEMPT, EvictionKind.TASK_PREEMPT):
            return candidates
        return [] if self._fault else self._victim_selection().above_deserved(candidates)

    # -- simulation

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> None:
        self._allocations.simulate(cycle_state.setdefault(self.name, {}), added, added=True)

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> None:
        self._allocations.simulate(cycle_state.setdefault(self.name, {}), removed, added=False)

    @hookimpl
    def simulate_allocatable(self, cycle_state: dict[str, Any], queue: Queue, task: Task) -> bool:
        """As Volcano, without the question whether the queue is open."""
        leaf = self._leaf(queue)
        simulated = cycle_state.setdefault(self.name, {})
        return leaf is not None and self._allocations.simulate_allocatable(simulated, leaf, task)

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._allocations.allocate(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._allocations.deallocate(task)

    # -- messages

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else found.account.allocated_resource.clone()

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        found = self._queues.get(queue.name)
        return None if found is None else found.account.deserved.clone()

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point in ("allocatable", "preemptive", "job_enqueueable"):
            queue = args[0] if isinstance(args[0], Queue) else self.session.queue_of(args[0])
            leaf = self._open_leaf(queue)
            if leaf is None:
                if self._fault:
                    return VoteDetails(self._fault, {}, "FaultyQueueTree")
                return None if queue.is_open else queue_not_open(queue.name, queue.state)
            if point == "job_enqueueable":
                found = (enqueue_details(args[0], member.account) for member in leaf.path)
                return next((details for details in found if details is not None), None)
            tasks = [args[1]] if isinstance(args[1], Task) else args[1]
            return self._bounds_exceeded(leaf, tasks, preemptive=point == "preemptive")
        if point in ("reclaimable", "unified_evictable"):
            account = self._queues[args[1][0].queue].account
            text = (
                f"queue {account.queue.name} holds {account.allocated_resource.describe()} and "
                f"deserves {account.deserved.describe()}"
            )
            return VoteDetails(
                text, {"used": account.allocated_resource, "deserved": account.deserved}
            )
        return None

    def _bounds_exceeded(
        self, leaf: CapacityQueue, tasks: Sequence[Task], *, preemptive: bool
    ) -> VoteDetails | None:
        columns, request = self._columns, self._columns.total_request(tasks)
        for member in leaf.path:
            account = member.account
            held, bound = account.allocated, account.bound
            details = bound_details(columns, member.name, held, request, bound, limit=True)
            if details is not None:
                return details
        if not preemptive or leaf.stays_deserved(request):
            return None
        held, bound = leaf.account.allocated, columns.amounts(leaf.account.deserved)
        return bound_details(columns, leaf.name, held, request, bound, limit=False)

    # -- helpers

    def _claim_reader(self) -> ClaimReader | None:
        """None unless devices are counted and some queue bounds them."""
        devices, capacities = self.options.devices, self.options.device_capacities
        cluster = self.session.cluster
        if devices is None:
            devices = is_enabled(cluster, "DynamicResourceAllocation", default=True)
        if capacities is None:
            capacities = is_enabled(cluster, "DRAConsumableCapacity", default=False)
        if not devices or not any(q.devices.capability for q in self._queues.values()):
            return None
        return ClaimReader(self.session, capacities=capacities)

    def _leaf(self, queue: Queue) -> CapacityQueue | None:
        """The queue, if it is a leaf of a sound tree."""
        found = None if self._fault else self._queues.get(queue.name)
        return found if found is not None and found.is_leaf else None

    def _open_leaf(self, queue: Queue) -> CapacityQueue | None:
        return self._leaf(queue) if queue.is_open else None

    def _victim_selection(self) -> VictimSelection:
        return VictimSelection(self._queues, self._columns, self._levels)
