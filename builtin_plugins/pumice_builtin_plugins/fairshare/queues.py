"""The tree of queues with what each may have, holds and asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from pumice import Queue, Resource, Session
from pumice.gpu import GPU
from pumice_builtin_plugins.fairshare.amounts import NAMES, NOTHING, Amount, Amounts, Bound

Shares = tuple[Fraction, Fraction, Fraction]
"""A number without a unit for CPU, memory and GPUs."""


class Terms(NamedTuple):
    """What a queue is entitled to."""

    deserved: Bound
    limit: Bound
    weight: Shares


def terms_of(queue: Queue) -> Terms:
    """The terms of a queue of either family, for CPU, memory and GPUs each:

    ========  =======================  =================================================
    here      KAI                      Volcano
    ========  =======================  =================================================
    deserved  quota (unset: 0)         larger of deserved and guarantee (unset: 0)
    limit     limit (unset: 0)         capability (unset: unlimited)
    weight    over-quota weight (0)    weight, the same for each resource (1)
    ========  =======================  =================================================

    The reader of manifests has already told KAI's -1 (unlimited) from what is unset.
    """
    if queue.family == "kai":
        weights = queue.over_quota_weight or Resource()
        return Terms(_bound(queue.deserved, 0), _bound(queue.limit, 0), _shares(weights, NAMES))
    deserved, guarantee = _bound(queue.deserved, 0), _bound(queue.guarantee, 0)
    weight = Fraction(queue.weight)
    return Terms(
        (
            max(deserved[0], guarantee[0]),
            max(deserved[1], guarantee[1]),
            max(deserved[2], guarantee[2]),
        ),
        _bound(queue.limit, math.inf),
        (weight, weight, weight),
    )


def _bound(given: Resource | None, unset: float) -> Bound:
    if given is None:
        return unset, unset, unset
    return _whole(given.cpu), _whole(given.memory), _whole(given.scalars.get(GPU, unset))


def _whole(value: float) -> float:
    # What tasks ask for is whole: the rest of a bound below one unit can never be used.
    return value if value == math.inf else math.floor(value)


def _shares(given: Resource, names: Iterable[str]) -> Shares:
    cpu, memory, gpus = (exact(given.get(name)) for name in names)
    return cpu, memory, gpus


def exact(number: float) -> Fraction:
    """A number as it is written, so that 0.1 is one tenth."""
    return Fraction(str(number))


class FairQueue:
    """One queue's books, in CPU, memory and GPUs."""

    __slots__ = (
        "allocatable",
        "allocated",
        "bounds",
        "changes",
        "children",
        "created",
        "fair_share",
        "limited",
        "name",
        "non_preemptible",
        "parent",
        "path",
        "priority",
        "queue",
        "request",
        "terms",
        "usage",
    )

    def __init__(self, queue: Queue, usage: Shares) -> None:
        self.queue = queue
        self.name = queue.name
        self.terms = terms_of(queue)
        self.usage = usage
        """Part of the cluster that the queue has used lately."""
        self.priority = queue.priority
        self.created = (queue.created, queue.name)
        """What makes one of two equal queues the older one."""
        self.parent: FairQueue | None = None
        self.children: list[FairQueue] = []
        self.path: tuple[FairQueue, ...] = (self,)
        """The queue and its ancestors, up to the top."""
        self.limited: tuple[FairQueue, ...] = ()
        """Those of the path that have a limit."""
        self.allocated = [0, 0, 0]
        """What tasks hold or are promised now."""
        self.non_preemptible = [0, 0, 0]
        """The part of it that belongs to jobs which cannot be preempted."""
        self.request = [0, 0, 0]
        """What was held and waiting when the session opened."""
        self.fair_share: Amount = NOTHING
        self.allocatable: Bound = NOTHING
        self.bounds: Amount = NOTHING
        """As allocatable, with the whole cluster for what is unlimited."""
        self.changes = 0
        """Grows whenever what the queue holds changes."""

    def settle(self, fair_share: Amount, total: Amount) -> None:
        """Set the fair share and what follows from it."""
        self.fair_share = fair_share
        deserved, limit = self.terms.deserved, self.terms.limit
        first, second, third = (
            min(limit[i], max(deserved[i], fair_share[i])) for i in range(len(NAMES))
        )
        self.allocatable = (first, second, third)
        cpu, memory, gpus = (
            total[i] if room == math.inf else int(room) for i, room in enumerate(self.allocatable)
        )
        self.bounds = (cpu, memory, gpus)

    def change(self, amount: Amount, sign: int, preemptible: bool) -> None:
        """Count a task in or out, here and in all ancestors."""
        cpu, memory, gpus = amount
        if sign < 0:
            cpu, memory, gpus = -cpu, -memory, -gpus
        for queue in self.path:
            queue.changes += 1
            held = queue.allocated
            held[0] += cpu
            held[1] += memory
            held[2] += gpus
            if not preemptible:
                held = queue.non_preemptible
                held[0] += cpu
                held[1] += memory
                held[2] += gpus

    def __repr__(self) -> str:
        return f"<fair queue {self.name}>"


def grow_tree(
    queues: Iterable[Queue], usage: Mapping[str, Shares], nothing: Shares
) -> dict[str, FairQueue]:
    """Books of all queues, linked; children are in the order of their creation."""
    tree = {queue.name: FairQueue(queue, usage.get(queue.name, nothing)) for queue in queues}
    for queue in sorted(tree.values(), key=lambda queue: queue.created):
        above = tree.get(queue.queue.parent)
        if above is not None:
            queue.parent = above
            above.children.append(queue)
    for queue in top_down(tree):
        if queue.parent is not None:
            queue.path = (queue, *queue.parent.path)
        queue.limited = tuple(
            q for q in queue.path if any(limit != math.inf for limit in q.terms.limit)
        )
    return tree


def roots(tree: Mapping[str, FairQueue]) -> list[FairQueue]:
    top = [queue for queue in tree.values() if queue.parent is None]
    return sorted(top, key=lambda queue: queue.created)


def top_down(tree: Mapping[str, FairQueue]) -> Iterator[FairQueue]:
    """All queues, each after its parent."""
    waiting = roots(tree)
    while waiting:
        queue = waiting.pop()
        yield queue
        waiting += queue.children


def count_jobs(tree: Mapping[str, FairQueue], session: Session, amounts: Amounts) -> None:
    """Fill the books from the jobs of a session that has just been opened."""
    jobs, width = session.jobs.values(), len(NAMES)
    number_of = {name: number for number, name in enumerate(tree)}
    nobody = len(tree)
    owners = np.array([number_of.get(job.queue, nobody) for job in jobs], np.intp)
    bound = np.array([not job.preemptible for job in jobs], bool)
    of_jobs = amounts.of_jobs(session)
    sums = np.zeros((nobody + 1, 2 * width), np.int64)
    non_preemptible = np.zeros((nobody + 1, width), np.int64)
    np.add.at(sums, owners, of_jobs)
    np.add.at(non_preemptible, owners[bound], of_jobs[bound, :width])
    for number, queue in enumerate(tree.values()):
        queue.allocated = sums[number, :width].tolist()
        queue.request = (sums[number, :width] + sums[number, width:]).tolist()
        queue.non_preemptible = non_preemptible[number].tolist()
    for queue in reversed(list(top_down(tree))):
        above = queue.parent
        if above is not None:
            _add(above.allocated, queue.allocated)
            _add(above.non_preemptible, queue.non_preemptible)
            _add(above.request, queue.request)


def _add(into: list[int], amount: Amount | list[int]) -> None:
    for i in range(len(NAMES)):
        into[i] += amount[i]
