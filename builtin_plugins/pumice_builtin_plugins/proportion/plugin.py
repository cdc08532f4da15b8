"""Divide the cluster among queues by weight, within what each requests and may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pumice import (
    PERMIT,
    EvictionContext,
    Job,
    Plugin,
    Queue,
    Resource,
    Task,
    TaskStatus,
    VoteDetails,
    hookimpl,
)
from pumice_builtin_plugins.proportion.water_fill import water_fill
from pumice_builtin_plugins.quota.details import (
    bound_details,
    enqueue_details,
    overused_details,
    queue_not_open,
)
from pumice_builtin_plugins.quota.eviction import RECLAIM_KINDS, returned_with
from pumice_builtin_plugins.quota.min_resources import deduct_gated, min_request, refuse, refuse_for
from pumice_builtin_plugins.quota.queue_accounts import (
    QueueAccount,
    open_accounts,
    real_capability,
    total_guarantee,
)
from pumice_builtin_plugins.quota.resource_columns import (
    Request,
    ResourceColumns,
    add_request,
    exceeds,
    fits,
    subtract_request,
)
from pumice_builtin_plugins.quota.shortcut import QUEUE_BOOKS


class Proportion(Plugin):
    """Queues deserve a part of the cluster by weight: it orders, bounds and reclaims them.

    Only queues that have a job take part. What a queue does not request goes to the others.
    """

    shortcuts = (QUEUE_BOOKS,)

    beyond_upstream = frozenset({"protected"})

    @hookimpl
    def on_session_open(self) -> None:
        session = self.session
        self._columns = ResourceColumns(session)
        with_jobs = {job.queue for job in session.jobs.values()}
        self._accounts = open_accounts(
            session, self._columns, [q for q in session.queues.values() if q.name in with_jobs]
        )
        total = session.nodes.dimensions.resource(session.cluster.total)
        unreserved = total.exceeded_part(total_guarantee(session.queues.values()))
        for account in self._accounts.values():
            account.real_capability = real_capability(unreserved, account)
        self._set_deserved(total)

    # -- admission of jobs

    @hookimpl
    def job_enqueueable(self, job: Job) -> int:
        account = self._accounts[job.queue]
        if not account.queue.is_open:
            return refuse_for(job, f"queue {job.queue} is {account.queue.state}")
        insufficient = account.insufficient(min_request(job))
        if insufficient:
            return refuse(job, "queue resource quota insufficient", "insufficient", insufficient)
        return PERMIT

    @hookimpl
    def job_enqueued(self, job: Job) -> None:
        self._accounts[job.queue].inqueue.add(deduct_gated(job, min_request(job)))

    # -- order of queues

    @hookimpl
    def queue_order(self, left: Queue, right: Queue) -> int:
        if left.priority != right.priority:
            return right.priority - left.priority
        accounts = self._accounts
        l_account, r_account = accounts.get(left.name), accounts.get(right.name)
        l_share = 0.0 if l_account is None else l_account.share
        r_share = 0.0 if r_account is None else r_account.share
        return (l_share > r_share) - (l_share < r_share)

    @hookimpl
    def overused(self, queue: Queue) -> bool | None:
        """Volcano's rule: all of deserved is used, pods included."""
        account = self._accounts.get(queue.name)
        return None if account is None else not exceeds(account.bound, account.allocated)

    # -- placement of tasks

    @hookimpl
    def allocatable(self, queue: Queue, task: Task) -> bool | None:
        return self._fits(queue, self._columns.request(task))

    @hookimpl
    def preemptive(self, queue: Queue, tasks: Sequence[Task]) -> bool | None:
        return self._fits(queue, self._columns.total_request(tasks))

    # -- victims

    @hookimpl
    def protected(self, task: Task, context: EvictionContext) -> str | None:
        """Nothing is reclaimed from a queue that holds no more than it deserves."""
        if task.job is None or context.kind not in RECLAIM_KINDS:
            return None
        account = self._accounts[task.job.queue]
        held = account.allocated
        if task.status is TaskStatus.RELEASING:
            held = held.copy()
            for returned in returned_with(task, context):
                add_request(held, returned)
        if exceeds(held, account.bound):
            return None
        return f"queue {task.job.queue} holds no more than it deserves"

    @hookimpl
    def reclaimable(self, candidates: Sequence[Task]) -> Sequence[Task]:
        """Tasks whose queue holds more than it deserves without the victims before them."""
        remaining: dict[str, list[int]] = {}
        victims = []
        for task in candidates:
            if task.job is None:
                continue
            account = self._accounts[task.job.queue]
            allocated = remaining.get(task.job.queue)
            if allocated is None:
                allocated = remaining[task.job.queue] = list(account.allocated)
            # Volcano compares before it subtracts: the last victim may cut below deserved.
            if exceeds(allocated, account.bound):
                subtract_request(allocated, task)
                victims.append(task)
        return victims

    # -- simulation

    @hookimpl
    def simulate_add_task(self, cycle_state: dict[str, Any], added: Task) -> None:
        if added.job is not None:
            add_request(self._simulated(cycle_state, self._accounts[added.job.queue]), added)

    @hookimpl
    def simulate_remove_task(self, cycle_state: dict[str, Any], removed: Task) -> None:
        if removed.job is not None:
            subtract_request(
                self._simulated(cycle_state, self._accounts[removed.job.queue]), removed
            )

    @hookimpl
    def simulate_allocatable(
        self, cycle_state: dict[str, Any], queue: Queue, task: Task
    ) -> bool | None:
        """As Volcano, without the question whether the queue is open."""
        account = self._accounts.get(queue.name)
        if account is None:
            return None
        allocated = cycle_state.get(self.name, {}).get(queue.name, account.allocated)
        return fits(allocated, self._columns.request(task), account.bound)

    # -- events

    @hookimpl
    def on_allocate(self, task: Task) -> None:
        if task.job is not None:
            self._accounts[task.job.queue].allocate(task)

    @hookimpl
    def on_deallocate(self, task: Task) -> None:
        if task.job is not None:
            self._accounts[task.job.queue].deallocate(task)

    # -- messages

    @hookimpl
    def get_queue_allocated_resources(self, queue: Queue) -> Resource | None:
        account = self._accounts.get(queue.name)
        return None if account is None else account.allocated_resource

    @hookimpl
    def get_queue_deserved_resources(self, queue: Queue) -> Resource | None:
        account = self._accounts.get(queue.name)
        return None if account is None else account.deserved

    def vote_details(self, point: str, *args: Any) -> VoteDetails | None:
        if point in ("allocatable", "preemptive"):
            queue, tasks = args
            account = self._accounts.get(queue.name)
            if account is None:
                return None
            if not queue.is_open:
                return queue_not_open(queue.name, queue.state)
            request = self._columns.total_request([tasks] if isinstance(tasks, Task) else tasks)
            held, bound = account.allocated, account.bound
            return bound_details(self._columns, queue.name, held, request, bound, limit=False)
        if point == "overused" and self.overused(args[0]):
            account = self._accounts[args[0].name]
            held, bound = account.allocated, account.bound
            return overused_details(self._columns, args[0].name, held, bound)
        if point == "job_enqueueable":
            return enqueue_details(args[0], self._accounts[args[0].queue])
        if point == "reclaimable":
            task = args[1][0]
            account = self._accounts[task.queue]
            held, bound = account.allocated, account.bound
            details = overused_details(self._columns, task.queue, held, bound)
            return VoteDetails(f"{details.text}: no more than it deserves", details.numbers)
        return None

    # -- helpers

    def _set_deserved(self, total: Resource) -> None:
        accounts, columns = list(self._accounts.values()), self._columns
        if not accounts:
            return
        deserved = water_fill(
            np.array(columns.amounts(total)),
            [account.queue.weight for account in accounts],
            requests=np.array([account.request for account in accounts], float),
            capabilities=np.array([columns.amounts(a.real_capability, np.inf) for a in accounts]),
            guarantees=np.array([columns.amounts(a.guarantee) for a in accounts], float),
            pods=columns.pods,
        )
        for account, row in zip(accounts, deserved.tolist(), strict=True):
            account.deserved, account.bound = columns.resource(row), row

    def _fits(self, queue: Queue, request: Request) -> bool | None:
        """Whether an open queue with this request stays within deserved; None: not its queue."""
        account = self._accounts.get(queue.name)
        if account is None:
            return None
        return queue.is_open and fits(account.allocated, request, account.bound)

    def _simulated(self, cycle_state: dict[str, Any], account: QueueAccount) -> list[int]:
        """What the queue holds in this simulation; copied when the simulation first changes it."""
        allocated: dict[str, list[int]] = cycle_state.setdefault(self.name, {})
        return allocated.setdefault(account.queue.name, list(account.allocated))
