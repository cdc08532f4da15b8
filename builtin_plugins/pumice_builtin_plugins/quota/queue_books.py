"""What a queue holds, asks for and may hold: the sums that the quota plugins have in common.

:func:`gather` makes a :class:`QueueShare` per queue from the session's jobs; a plugin then sets
``real_capability``, ``deserved`` and ``ceiling`` by its own rule and keeps ``allocated`` by calling
:meth:`QueueShare.add` and :meth:`QueueShare.take` from its events. Questions that are asked for
every task compare integer lists (:func:`fits`); the others use :class:`Resource`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from pumice import MIN, Job, Missing, Queue, Resource, Session, Task, TaskStatus
from pumice import share as part_of
from pumice.kube import PODS
from pumice_builtin_plugins.quota.min_resources import elastic_of, inqueue_of

Asked = tuple[tuple[int, int], ...]
"""(position, amount) of the resources that are asked for; pods do not count."""


class Columns:
    """Positions of resources in a queue's lists: the cluster's, then those only queues name."""

    __slots__ = ("_asked", "names", "pods", "position", "remembers")

    def __init__(self, session: Session) -> None:
        known = session.nodes.dimensions.names
        named = {
            name
            for queue in session.queues.values()
            for bound in (queue.guarantee, queue.limit, queue.deserved)
            if bound is not None
            for name in bound.scalars
        }
        self.names: tuple[str, ...] = (*known, *sorted(named.difference(known)))
        self.position = {name: i for i, name in enumerate(self.names)}
        self.pods = self.position[PODS]
        self._asked: dict[int, Asked] = {}
        self.remembers = session.uses("queue_books")
        """Whether what follows from a queue's books is remembered until they change."""

    def amounts(self, resource: Resource, missing: float = 0) -> list[float]:
        """A resource as a list; ``missing`` stands for the scalars that it does not name."""
        amounts = [missing] * len(self.names)
        for name, amount in resource.items():
            position = self.position.get(name)
            if position is not None:
                amounts[position] = amount
        return amounts

    def resource(self, amounts: Sequence[float]) -> Resource:
        """A list as a resource; scalars of which there is nothing are left out."""
        cpu, memory, *scalars = amounts
        named = zip(self.names[2:], scalars, strict=True)
        return Resource(cpu, memory, {name: amount for name, amount in named if amount})

    def asked(self, task: Task) -> Asked:
        # Tasks share their vectors, and keep them alive: the identity is a safe, quick key.
        found = self._asked.get(id(task.vector))
        if found is None:
            found = self._asked[id(task.vector)] = self._positive(task.vector.tolist())
        return found

    def asked_together(self, tasks: Iterable[Task]) -> Asked:
        total = [0] * len(self.names)
        for task in tasks:
            for position, amount in enumerate(task.vector.tolist()):
                total[position] += amount
        return self._positive(total)

    def _positive(self, amounts: Sequence[int]) -> Asked:
        return tuple((i, a) for i, a in enumerate(amounts) if a > 0 and i != self.pods)


class QueueShare:
    """One queue's books. Lists are ordered as :class:`Columns` tells."""

    __slots__ = (
        "_counted",
        "_deserved",
        "_held",
        "_share",
        "allocated",
        "capability",
        "ceiling",
        "columns",
        "elastic",
        "guarantee",
        "inqueue",
        "queue",
        "real_capability",
        "request",
    )

    def __init__(self, queue: Queue, columns: Columns) -> None:
        self.queue = queue
        self.columns = columns
        self.allocated = [0] * len(columns.names)
        """What the queue's tasks hold now, promised room included."""
        self.request = [0] * len(columns.names)
        """What they held and what was pending when the session opened."""
        self.inqueue = Resource()
        """Minimums of admitted jobs that are not placed yet."""
        self.elastic = Resource()
        """What jobs held beyond their minimums when the session opened."""
        self.guarantee = Resource() if queue.guarantee is None else queue.guarantee.clone()
        self.capability = queue.limit
        self.real_capability = Resource()
        self.ceiling: list[float] = [0.0] * len(columns.names)
        """The bound that a task is compared with; :meth:`Columns.amounts` makes it."""
        self._deserved = Resource()
        self._counted: list[tuple[int, float]] = []
        self._held: Resource | None = None
        self._share: float | None = None

    @property
    def deserved(self) -> Resource:
        """What the queue is entitled to; set it anew instead of changing it."""
        return self._deserved

    @deserved.setter
    def deserved(self, deserved: Resource) -> None:
        position = self.columns.position
        self._deserved, self._share = deserved, None
        self._counted = [(position[n], amount) for n, amount in deserved.items() if amount >= MIN]

    @property
    def held(self) -> Resource:
        """``allocated`` as a resource; not to be changed."""
        if self._held is None or not self.columns.remembers:
            self._held = self.columns.resource(self.allocated)
        return self._held

    def add(self, task: Task) -> None:
        add_to(self.allocated, task)
        self._held = self._share = None

    def take(self, task: Task) -> None:
        take_from(self.allocated, task)
        self._held = self._share = None

    def short_of(self, minimum: Resource) -> list[str]:
        """The resources of a job's minimum for which the real capability does not suffice."""
        wanted = minimum.plus(self.held).add(self.inqueue).sub(self.elastic)
        return wanted.less_equal_in(self.real_capability, minimum)[1]

    @property
    def share(self) -> float:
        """The largest part that is held of a resource that is deserved; 0 where nothing is."""
        if self._share is None or not self.columns.remembers:
            held = self.allocated
            self._share = max(
                [part_of(held[i], amount) for i, amount in self._counted], default=0.0
            )
        return self._share


def add_to(amounts: list[int], task: Task) -> None:
    for position, amount in enumerate(task.vector.tolist()):
        if amount:
            amounts[position] += amount


def take_from(amounts: list[int], task: Task) -> None:
    for position, amount in enumerate(task.vector.tolist()):
        if amount:
            amounts[position] -= amount


def fits(held: Sequence[float], asked: Asked, ceiling: Sequence[float]) -> bool:
    """Whether what is asked for fits beside what is held, resource by resource."""
    for position, amount in asked:  # noqa: SIM110 - asked for every task: all() costs twice
        if held[position] + amount > ceiling[position]:
            return False
    return True


def exceeds(held: Sequence[float], bound: Sequence[float]) -> bool:
    """Whether some resource, pods included, is held beyond the bound."""
    return any(mine - most >= MIN for mine, most in zip(held, bound, strict=True))


def gather(session: Session, columns: Columns, queues: Iterable[Queue]) -> dict[str, QueueShare]:
    """The books of these queues, with what their own jobs hold, ask for and were promised."""
    shares = {queue.name: QueueShare(queue, columns) for queue in queues}
    number_of = {name: number for number, name in enumerate(shares)}
    nobody = len(shares)
    jobs = list(session.jobs.values())
    owners = np.array([number_of.get(job.queue, nobody) for job in jobs], np.intp)
    found, width = session.cluster.snapshot_cache, len(session.nodes.dimensions)
    allocated = found.of_jobs("allocated", _allocated, width=width)
    pending = found.of_jobs("pending", _pending, width=width)
    held, asked, unbound = (np.zeros((nobody + 1, width), np.int64) for _ in range(3))
    np.add.at(held, owners, allocated)
    np.add.at(asked, owners, pending)
    bounded = [n for n, job in enumerate(jobs) if job.min_resources is not None]
    np.subtract.at(unbound, owners[bounded], allocated[bounded])
    asked += held
    unbound += held
    for number, share in enumerate(shares.values()):
        share.allocated[:width] = held[number].tolist()
        share.request[:width] = asked[number].tolist()
        share.elastic.add(session.nodes.dimensions.resource(unbound[number]))
    for number in bounded:
        job = jobs[number]
        share_of = shares.get(job.queue)
        if share_of is not None:
            share_of.inqueue.add(inqueue_of(session, job))
            share_of.elastic.add(elastic_of(session, job))
    return shares


def _allocated(job: Job) -> np.ndarray:
    return job.allocated


def _pending(job: Job) -> np.ndarray:
    """What the tasks ask for that are pending."""
    pending = job.by_status[TaskStatus.PENDING]
    if len(pending) == len(job.tasks):
        return job.total_request
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


def real_capability(unreserved: Resource, share: QueueShare) -> Resource:
    """What a queue can ever hold: what no guarantee reserves, its own guarantee, its limit.

    ``unreserved`` is ``total.exceeded_part(total_guarantee)``.
    """
    capability = unreserved.plus(share.guarantee)
    if share.capability is not None:
        capability.min_dimension(share.capability, Missing.INFINITY)
    return capability
