"""Queues with a capability, a deserved amount and a guarantee each, flat or in a tree."""

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
    hookimpl,
)
from pumice_builtin_plugins.capacity.accounts import Account
from pumice_builtin_plugins.capacity.device_quota import ClaimReader
from pumice_builtin_plugins.capacity.holdings import Holdings
from pumice_builtin_plugins.capacity.reclaim import Reclaiming
from pumice_builtin_plugins.capacity.tree import flat_accounts, tree_accounts
from pumice_builtin_plugins.quota.feature_gates import gate
from pumice_builtin_plugins.quota.min_resources import (
    QUEUE_GATE,
    deduct_gated,
    min_request,
    refuse,
    refuse_for,
)
from pumice_builtin_plugins.quota.queue_books import Columns, fits
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class Capacity(Plugin):
    """Bound queues by their capability and let them reclaim up to their deserved amount.

    In a tree every ancestor's bound holds, too, and jobs belong into leaves: a tree with a fault
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
        devices: bool | None = Field(
            None,
            alias="capacity.DynamicResourceAllocationEnable",
            description="Count claimed devices; by default as the feature gate tells.",
        )
        device_capacities: bool | None = Field(
            None,
            alias="capacity.DRAConsumableCapacityEnable",
            description="Count capacities taken of devices; by default as the feature gate tells.",
        )

        @field_validator("ancestor_reclaim_level")
        @classmethod
        def _not_negative(cls, value: int) -> int:
            return max(value, 0)

    @hookimpl
    def on_session_open(self) -> None:
        session, options = self.session, self.options
        self._columns = Columns(session)
        self._fault = ""
        if options.hierarchy:
            self._accounts, self._fault = tree_accounts(session, self._columns)
        else:
            self._accounts = flat_accounts(session, self._columns)
        if self._fault:
            logger.warning("{}: {}: nothing is started", self.name, self._fault)
            for job in session.jobs.values():
                job.refusals.append(Refusal("FaultyQueueTree", self._fault))
        self._levels = options.ancestor_reclaim_level if options.hierarchy else 0
        self._holdings = Holdings(self._accounts, self._columns, self._read_claims())
        self._holdings.count_devices(session)

    def _read_claims(self) -> ClaimReader | None:
        """A reader of claims, where devices are counted and some queue limits them."""
        wanted, capacities = self.options.devices, self.options.device_capacities
        if wanted is None:
            wanted = gate(self.session, "DynamicResourceAllocation", default=True)
        if capacities is None:
            capacities = gate(self.session, "DRAConsumableCapacity", default=False)
        if not wanted or not any(a.devices.limits for a in self._accounts.values()):
            return None
        return ClaimReader(self.session, capacities=capacities)

    def _account(self, queue: Queue, *, open_only: bool = True) -> Account | None:
        """The account of a queue in which something can start."""
        if self._fault or (open_only and queue.state != "Open"):
            return None
        account = self._accounts.get(queue.name)
        return account if account is not None and account.is_leaf else None

    # -- who goes first

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        l_account, r_account = self._accounts.get(left.name), self._accounts.get(right.name)
        if l_account is None or r_account is None or l_account is r_account:
            return 0
        if l_account.is_leaf != r_account.is_leaf:
            return -1 if l_account.is_leaf else 1
        l_account, r_account = _below_common(l_account, r_account)
        if l_account.share != r_account.share:
            return -1 if l_account.share < r_account.share else 1
        return l_account.unentitled - r_account.unentitled

    @hookimpl
    def victim_queue_order(self, left: Queue, right: Queue, preemptor_queue: Queue) -> int:
        """Close relatives give first."""
        claimant = self._accounts.get(preemptor_queue.name)
        l_account, r_account = self._accounts.get(left.name), self._accounts.get(right.name)
        if claimant is None or l_account is None or r_account is None:
            return 0
        return _common(r_account, claimant) - _common(l_account, claimant)

    # -- what fits

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool:
        account = self._account(queue)
        if account is None:
            return False
        if not self._holdings.has_room(account, task):
            return False
        if task.annotations.get(QUEUE_GATE) == "true":
            self._holdings.reserve(account, task)
        return True

    @hookimpl
    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool:
        account = self._account(queue)
        if account is None:
            return False
        asked = self._columns.asked_together(tasks)
        if not fits(account.books.allocated, asked, account.books.ceiling):
            return False
        above = (account.above(level) for level in range(1, self._levels + 1))
        return any(member.deserves(asked) for member in (account, *above) if member is not None)

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        queue = self.session.queue_of(job)
        account = self._account(queue)
        if account is None:
            return refuse_for(job, self._fault or f"queue {job.queue} is not open")
        claims = self._holdings.claims_of_minimum(job)
        for member in account.path:
            short = member.books.short_of(min_request(job))
            short += member.devices.lacks(claims, promised=True)
            if short:
                what = f"queue {member.name} resource quota insufficient"
                return refuse(job, what, "insufficient", short)
        return PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        account = self._accounts.get(job.queue)
        minimum = deduct_gated(job, min_request(job))
        for member in account.path if account is not None else ():
            member.books.inqueue.add(minimum)
        self._holdings.promise_devices(job)

    # -- who may be evicted

    def _reclaiming(self) -> Reclaiming:
        return Reclaiming(self._accounts, self._columns, self._levels)

    @hookimpl
    def reclaimable(self, reclaimer: Task, candidates: Sequence[Task]) -> Sequence[Task]:
        if self._fault or reclaimer.queue not in self._accounts:
            return []
        session = self.session
        in_order = session.order.sorted_victims(candidates, reclaimer, session.queues)
        return self._reclaiming().victims(reclaimer, in_order)

    @hookimpl
    def unified_evictable(
        self, context: EvictionContext, candidates: Sequence[Task]
    ) -> Sequence[Task]:
        if context.kind in (EvictionKind.GANG_PREEMPT, EvictionKind.TASK_PREEMPT):
            return candidates
        return [] if self._fault else self._reclaiming().surplus(candidates)

    # -- what happens, and what if

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        self._holdings.place(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        self._holdings.displace(task)

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> None:
        self._holdings.simulate(cycle_state.setdefault(self.name, {}), added, added=True)

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> None:
        self._holdings.simulate(cycle_state.setdefault(self.name, {}), removed, added=False)

    @hookimpl
    def simulate_allocatable(self, cycle_state: dict[str, Any], queue: Queue, task: Task) -> bool:
        account = self._account(queue, open_only=False)
        copies = cycle_state.setdefault(self.name, {})
        return account is not None and self._holdings.would_have_room(copies, account, task)

    # -- for messages

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        account = self._accounts.get(queue.name)
        return None if account is None else account.books.held.clone()

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        account = self._accounts.get(queue.name)
        return None if account is None else account.books.deserved.clone()


def _common(left: Account, right: Account) -> int:
    """How many ancestors two queues have in common."""
    depth = 0
    for l_ancestor, r_ancestor in zip(left.ancestors, right.ancestors, strict=False):
        if l_ancestor is not r_ancestor:
            break
        depth += 1
    return depth


def _below_common(left: Account, right: Account) -> tuple[Account, Account]:
    """The two queues, or their ancestors, right below their nearest common ancestor."""
    depth = _common(left, right)
    return (
        left.ancestors[depth] if depth < len(left.ancestors) else left,
        right.ancestors[depth] if depth < len(right.ancestors) else right,
    )
