"""The tree of queues, each with its quota, limit, fair share, allocated and request."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pumice import Queue, Resource, Session, common_depth
from pumice.gpu import GPU
from pumice_builtin_plugins.fairshare.quantities import (
    NAMES,
    NOTHING,
    Bounds,
    Quantities,
    TaskQuantities,
)

Fractions = tuple[Fraction, Fraction, Fraction]
"""A number without a unit for CPU, memory and GPUs."""


class QueueQuota(NamedTuple):
    """Quota, limit, over-quota weight and guarantee of a queue."""

    deserved: Bounds
    limit: Bounds
    over_quota_weight: Fractions
    guarantee: Bounds = NOTHING


def quota_of(queue: Queue) -> QueueQuota:
    """The quota of a queue of either family, for CPU, memory and GPUs each:

    =================  =====================  ================================================
    here               KAI                    Volcano
    =================  =====================  ================================================
    deserved           quota (unset: 0)       deserved (unset: 0)
    limit              limit (unset: 0)       capability (unset: unlimited)
    over_quota_weight  overQuotaWeight (0)    weight, the same for each resource (1)
    guarantee          none                   guarantee (unset: 0)
    =================  =====================  ================================================

    KAI's -1 (unlimited) is ``math.inf`` in the facts. A guarantee is the least fair share of a
    queue that requests so much, not an addition to it.
    """
    if queue.family == "kai":
        weights = queue.over_quota_weight or Resource()
        return QueueQuota(
            _bounds(queue.deserved, 0), _bounds(queue.limit, 0), _fractions(weights, NAMES)
        )
    weight = Fraction(queue.weight)
    return QueueQuota(
        _bounds(queue.deserved, 0),
        _bounds(queue.limit, math.inf),
        (weight, weight, weight),
        _bounds(queue.guarantee, 0),
    )


def _bounds(given: Resource | None, unset: float) -> Bounds:
    if given is None:
        return unset, unset, unset
    return _floor(given.cpu), _floor(given.memory), _floor(given.scalars.get(GPU, unset))


def _floor(value: float) -> float:
    # Requests are integers: the fraction of a bound can never be used.
    return value if value == math.inf else math.floor(value)


def _fractions(given: Resource, names: Iterable[str]) -> Fractions:
    cpu, memory, gpus = (exact(given.get(name)) for name in names)
    return cpu, memory, gpus


def exact(number: float) -> Fraction:
    """A number as it is written: 0.1 is one tenth."""
    return Fraction(str(number))


_KAI_DEFAULT = 100
"""The priority of a KAI queue that states none; Volcano's is 0."""


class FairQueue:
    """One queue in CPU, memory and GPUs."""

    __slots__ = (
        "allocatable",
        "allocated",
        "children",
        "created",
        "fair_share",
        "finite_allocatable",
        "limited_path",
        "name",
        "non_preemptible",
        "parent",
        "path",
        "priority",
        "queue",
        "quota",
        "request",
        "share_priority",
        "usage",
        "version",
    )

    def __init__(self, queue: Queue, usage: Fractions) -> None:
        self.queue = queue
        self.name = queue.name
        self.quota = quota_of(queue)
        self.usage = usage
        """The part of the cluster that the queue has used recently."""
        self.priority = queue.priority - (_KAI_DEFAULT if queue.family == "kai" else 0)
        """Counted from the default of the family, so that queues without one are equals."""
        self.share_priority = self.priority if queue.family == "kai" else 0
        """KAI's queues of higher priority get over-quota shares first; Volcano's priority only
        orders queues."""
        self.created = (queue.created, queue.name)
        """Orders queues by age; KAI leaves equal ages undecided, the name decides here."""
        self.parent: FairQueue | None = None
        self.children: list[FairQueue] = []
        self.path: tuple[FairQueue, ...] = (self,)
        """From the queue itself to its top ancestor."""
        self.limited_path: tuple[FairQueue, ...] = ()
        """The queues of the path that have a limit."""
        self.allocated = [0, 0, 0]
        """What the queue's tasks hold now, pipelined tasks included."""
        self.non_preemptible = [0, 0, 0]
        """The part of allocated that belongs to non-preemptible jobs."""
        self.request = [0, 0, 0]
        """Allocated plus pending when the session opened."""
        self.fair_share: Quantities = NOTHING
        self.allocatable: Bounds = NOTHING
        """The larger of deserved and fair share, up to the limit."""
        self.finite_allocatable: Quantities = NOTHING
        """Allocatable, with the cluster total in place of unlimited."""
        self.version = 0
        """Grows with every change of allocated."""

    def set_fair_share(self, fair_share: Quantities, cluster_total: Quantities) -> None:
        """Set the fair share and what follows from it."""
        self.fair_share = fair_share
        deserved, limit = self.quota.deserved, self.quota.limit
        guarantee = self.quota.guarantee
        first, second, third = (
            min(limit[i], max(deserved[i], guarantee[i], fair_share[i])) for i in range(len(NAMES))
        )
        self.allocatable = (first, second, third)
        cpu, memory, gpus = (
            cluster_total[i] if bound == math.inf else int(bound)
            for i, bound in enumerate(self.allocatable)
        )
        self.finite_allocatable = (cpu, memory, gpus)

    def count(self, quantities: Quantities, sign: int, preemptible: bool) -> None:
        """Add (``sign`` 1) or subtract (-1) a task, here and in all ancestors."""
        cpu, memory, gpus = quantities
        if sign < 0:
            cpu, memory, gpus = -cpu, -memory, -gpus
        for queue in self.path:
            queue.version += 1
            allocated = queue.allocated
            allocated[0] += cpu
            allocated[1] += memory
            allocated[2] += gpus
            if not preemptible:
                allocated = queue.non_preemptible
                allocated[0] += cpu
                allocated[1] += memory
                allocated[2] += gpus

    def __repr__(self) -> str:
        return f"<fair queue {self.name}>"


def build_tree(
    queues: Iterable[Queue], usage: Mapping[str, Fractions], no_usage: Fractions
) -> dict[str, FairQueue]:
    """All queues by name, linked; children in the order of their creation."""
    tree = {queue.name: FairQueue(queue, usage.get(queue.name, no_usage)) for queue in queues}
    for queue in sorted(tree.values(), key=lambda queue: queue.created):
        parent = tree.get(queue.queue.parent)
        if parent is not None:
            queue.parent = parent
            parent.children.append(queue)
    for queue in top_down(tree):
        if queue.parent is not None:
            queue.path = (queue, *queue.parent.path)
        queue.limited_path = tuple(
            q for q in queue.path if any(limit != math.inf for limit in q.quota.limit)
        )
    return tree


def top_queues(tree: Mapping[str, FairQueue]) -> list[FairQueue]:
    """The queues without a parent, the oldest first."""
    top = [queue for queue in tree.values() if queue.parent is None]
    return sorted(top, key=lambda queue: queue.created)


def top_down(tree: Mapping[str, FairQueue]) -> Iterator[FairQueue]:
    """All queues, each after its parent."""
    stack = top_queues(tree)
    while stack:
        queue = stack.pop()
        yield queue
        stack += queue.children


def below_common_ancestor(left: FairQueue, right: FairQueue) -> tuple[FairQueue, FairQueue]:
    """The two queues, or their ancestors, just below their lowest common ancestor."""
    l_path, r_path = left.path[::-1], right.path[::-1]
    depth = min(common_depth(l_path, r_path), len(l_path) - 1, len(r_path) - 1)
    return l_path[depth], r_path[depth]


def count_jobs(tree: Mapping[str, FairQueue], session: Session, quantities: TaskQuantities) -> None:
    """Set allocated and request from the jobs of a session that was just opened."""
    jobs, width = session.jobs.values(), len(NAMES)
    number_of = {name: number for number, name in enumerate(tree)}
    no_queue = len(tree)
    queue_of_job = np.array([number_of.get(job.queue, no_queue) for job in jobs], np.intp)
    non_preemptible = np.array([not job.preemptible for job in jobs], bool)
    per_job = quantities.allocated_and_pending(session)
    sums = np.zeros((no_queue + 1, 2 * width), np.int64)
    fixed = np.zeros((no_queue + 1, width), np.int64)
    np.add.at(sums, queue_of_job, per_job)
    np.add.at(fixed, queue_of_job[non_preemptible], per_job[non_preemptible, :width])
    for number, queue in enumerate(tree.values()):
        queue.allocated = sums[number, :width].tolist()
        queue.request = (sums[number, :width] + sums[number, width:]).tolist()
        queue.non_preemptible = fixed[number].tolist()
    for queue in reversed(list(top_down(tree))):
        parent = queue.parent
        if parent is not None:
            _add(parent.allocated, queue.allocated)
            _add(parent.non_preemptible, queue.non_preemptible)
            _add(parent.request, queue.request)


def _add(into: list[int], quantities: list[int]) -> None:
    for i in range(len(NAMES)):
        into[i] += quantities[i]
