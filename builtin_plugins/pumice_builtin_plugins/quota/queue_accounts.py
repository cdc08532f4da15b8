"""Per queue: deserved, capability, guarantee, allocated, request, inqueue, elastic and share.

:func:`open_accounts` sums up the jobs of a session. A plugin then sets ``real_capability``,
``deserved`` and ``bound`` by its own rule, and calls :meth:`QueueAccount.allocate` and
:meth:`QueueAccount.deallocate` from its events.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pumice import Job, Missing, Queue, Resource, Session, Task, TaskStatus
from pumice_builtin_plugins.quota.dominant_share import Totals, dominant_share, totals_of
from pumice_builtin_plugins.quota.min_resources import (
    allocated_of,
    allocated_rows,
    elastic_of,
    gated_jobs,
    inqueue_of,
    is_admitted,
    minimum_rows,
    runs_at_minimum,
)
from pumice_builtin_plugins.quota.resource_columns import (
    ResourceColumns,
    add_request,
    subtract_request,
)

_PENDING = TaskStatus.PENDING


class QueueAccount:
    """One queue's sums. Lists are ordered by :class:`ResourceColumns`."""

    __slots__ = (
        "_allocated_resource",
        "_cached",
        "_deserved",
        "_deserved_totals",
        "_share",
        "allocated",
        "bound",
        "capability",
        "columns",
        "elastic",
        "guarantee",
        "inqueue",
        "queue",
        "real_capability",
        "request",
    )

    def __init__(self, queue: Queue, columns: ResourceColumns, *, cached: bool = True) -> None:
        """``cached``: the share is computed again only after a change, else on every access."""
        self.queue = queue
        self.columns = columns
        self.allocated = [0] * len(columns.names)
        """What the queue's tasks hold now, pipelined tasks included."""
        self.request = [0] * len(columns.names)
        """Allocated plus pending when the session opened."""
        self.inqueue = Resource()
        """Minimum resources of admitted jobs that are not allocated yet."""
        self.elastic = Resource()
        """What jobs held beyond their minimum resources when the session opened."""
        self.guarantee = Resource() if queue.guarantee is None else queue.guarantee.clone()
        self.capability = queue.limit
        self.real_capability = Resource()
        self.bound: list[float] = [0.0] * len(columns.names)
        """What ``allocatable`` compares with: deserved in proportion, real capability in capacity.
        """
        self._deserved = Resource()
        self._deserved_totals: Totals = ()
        self._allocated_resource: Resource | None = None
        self._share: float | None = None
        self._cached = cached

    @property
    def deserved(self) -> Resource:
        """What the queue deserves; assign a new resource instead of changing it in place."""
        return self._deserved

    @deserved.setter
    def deserved(self, deserved: Resource) -> None:
        position = self.columns.position
        self._deserved, self._share = deserved, None
        self._deserved_totals = totals_of((position[name], n) for name, n in deserved.items())

    @property
    def allocated_resource(self) -> Resource:
        """``allocated`` as a resource; not to be changed in place."""
        if self._allocated_resource is None or not self._cached:
            self._allocated_resource = self.columns.resource(self.allocated)
        return self._allocated_resource

    @property
    def share(self) -> float:
        """The dominant share of deserved; 0 where nothing is deserved."""
        if self._share is None or not self._cached:
            self._share = dominant_share(self.allocated, self._deserved_totals)
        return self._share

    def allocate(self, task: Task) -> None:
        add_request(self.allocated, task)
        self._allocated_resource = self._share = None

    def deallocate(self, task: Task) -> None:
        subtract_request(self.allocated, task)
        self._allocated_resource = self._share = None

    def insufficient(self, minimum: Resource) -> list[str]:
        """The resources of a job's minimum that do not fit into the real capability."""
        needed = minimum.plus(self.allocated_resource).add(self.inqueue).sub(self.elastic)
        return needed.less_equal_in(self.real_capability, minimum)[1]


def open_accounts(
    session: Session, columns: ResourceColumns, queues: Iterable[Queue]
) -> dict[str, QueueAccount]:
    """Accounts of these queues by name, with the sums over their own jobs."""
    cached = session.uses("queue_books")
    accounts = {queue.name: QueueAccount(queue, columns, cached=cached) for queue in queues}
    number_of = {name: number for number, name in enumerate(accounts)}
    no_account = len(accounts)
    jobs = list(session.jobs.values())
    queue_of_job = np.array([number_of.get(job.queue, no_account) for job in jobs], np.intp)
    cache, width = session.cluster.snapshot_cache, len(session.nodes.dimensions)
    job_allocated = allocated_rows(session)
    job_pending = cache.of_jobs("pending", _pending, width=width)
    job_minimum = minimum_rows(session)
    in_resources, in_columns, counts = [], [], []
    cpus, gated = job_minimum[:, 0].tolist(), gated_jobs(session)
    for number, (job, cpu, is_gated) in enumerate(zip(jobs, cpus, gated, strict=True)):
        if job.min_resources is None:
            in_columns.append(number)
        elif cpu < 0 or is_gated:
            in_resources.append(job)
        else:
            in_columns.append(number)
            if job.phase != "Pending" and (is_admitted(job) or runs_at_minimum(job)):
                counts.append(number)
    allocated, request, elastic, inqueue = (
        np.zeros((no_account + 1, width), np.int64) for _ in range(4)
    )
    np.add.at(allocated, queue_of_job, job_allocated)
    np.add.at(request, queue_of_job, job_pending)
    beyond = np.maximum(job_allocated - np.maximum(job_minimum, 0), 0)
    np.add.at(elastic, queue_of_job[in_columns], beyond[in_columns])
    unmet = np.maximum(job_minimum - job_allocated, 0)
    np.add.at(inqueue, queue_of_job[counts], unmet[counts])
    request += allocated
    dimensions = session.nodes.dimensions
    for number, account in enumerate(accounts.values()):
        account.allocated[:width] = allocated[number].tolist()
        account.request[:width] = request[number].tolist()
        account.elastic.add(dimensions.resource(elastic[number]))
        account.inqueue.add(dimensions.resource(inqueue[number]))
    for job in in_resources:
        account_of = accounts.get(job.queue)
        if account_of is not None:
            held = allocated_of(session, job)
            account_of.inqueue.add(inqueue_of(job, held))
            account_of.elastic.add(elastic_of(job, held))
    return accounts


def _pending(job: Job) -> np.ndarray:
    """The sum of the pending tasks' requests."""
    pending = job.by_status[_PENDING]
    if len(pending) == len(job.tasks):
        return job.total_request
    if len(pending) + job.allocated_count == len(job.tasks):
        rest: np.ndarray = job.total_request - job.allocated
        return rest
    total = np.zeros_like(job.total_request)
    for task in pending.values():
        total += task.vector
    return total


def total_guarantee(queues: Iterable[Queue]) -> Resource:
    total = Resource()
    for queue in queues:
        if queue.guarantee is not None:
            total.add(queue.guarantee)
    return total


def real_capability(unreserved: Resource, account: QueueAccount) -> Resource:
    """What a queue can ever hold: what no guarantee reserves plus its own, up to its capability.

    ``unreserved`` is ``total.exceeded_part(total_guarantee)``.
    """
    capability = unreserved.plus(account.guarantee)
    if account.capability is not None:
        capability.min_dimension(account.capability, Missing.INFINITY)
    return capability
