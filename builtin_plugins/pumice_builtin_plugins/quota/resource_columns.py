"""Amounts of resources as plain lists, for the comparisons that are made for every task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pumice import MIN_RESOURCE, Resource, Session, Task
from pumice.kube import PODS

Request = tuple[tuple[int, int], ...]
"""(position, amount) of the requested resources, without pods."""


class ResourceColumns:
    """Positions of resources in a list: the cluster's dimensions, then those only queues name."""

    __slots__ = ("_positions", "_requests", "names", "pods", "position")

    def __init__(self, session: Session) -> None:
        dimensions = session.nodes.dimensions.names
        named_by_queues = {
            name
            for queue in session.queues.values()
            for resource in (queue.guarantee, queue.limit, queue.deserved)
            if resource is not None
            for name in resource.scalars
        }
        self.names: tuple[str, ...] = (
            *dimensions,
            *sorted(named_by_queues.difference(dimensions)),
        )
        self.position = {name: i for i, name in enumerate(self.names)}
        self.pods = self.position[PODS]
        self._requests: dict[int, Request] = {}
        self._positions: dict[int, frozenset[int]] = {}

    def amounts(self, resource: Resource, missing: float = 0) -> list[float]:
        """A resource as a list; ``missing`` stands for the scalars that it does not name."""
        amounts = [missing] * len(self.names)
        for name, amount in resource.items():
            position = self.position.get(name)
            if position is not None:
                amounts[position] = amount
        return amounts

    def resource(self, amounts: Sequence[float]) -> Resource:
        """A list as a resource, without the scalars that are 0."""
        cpu, memory, *scalars = amounts
        named = zip(self.names[2:], scalars, strict=True)
        return Resource(cpu, memory, {name: amount for name, amount in named if amount})

    def request(self, task: Task) -> Request:
        # Tasks with equal requests share one vector and keep it alive, so its id is a safe key.
        request = self._requests.get(id(task.vector))
        if request is None:
            request = self._requests[id(task.vector)] = self._positive(task.vector.tolist())
        return request

    def requested(self, task: Task) -> frozenset[int]:
        """The positions of what the task requests, without pods."""
        positions = self._positions.get(id(task.vector))
        if positions is None:
            positions = frozenset(position for position, _ in self.request(task))
            self._positions[id(task.vector)] = positions
        return positions

    def total_request(self, tasks: Iterable[Task]) -> Request:
        tasks = list(tasks)
        if len(tasks) == 1:
            return self.request(tasks[0])
        total = [0] * len(self.names)
        for task in tasks:
            add_request(total, task)
        return self._positive(total)

    def _positive(self, amounts: Sequence[int]) -> Request:
        return tuple((i, a) for i, a in enumerate(amounts) if a > 0 and i != self.pods)


def add_request(amounts: list[int], task: Task) -> None:
    """Add what the task requests, in place."""
    for position, amount in enumerate(task.vector.tolist()):
        if amount:
            amounts[position] += amount


def subtract_request(amounts: list[int], task: Task) -> None:
    """Subtract what the task requests, in place."""
    for position, amount in enumerate(task.vector.tolist()):
        if amount:
            amounts[position] -= amount


def fits(allocated: Sequence[float], request: Request, bound: Sequence[float]) -> bool:
    """Whether ``allocated + request`` stays within the bound in every requested resource."""
    for position, amount in request:  # noqa: SIM110 - called for every task: all() costs twice
        if allocated[position] + amount > bound[position]:
            return False
    return True


def exceeds(allocated: Sequence[float], bound: Sequence[float]) -> bool:
    """Whether some resource, pods included, is above the bound."""
    for amount, most in zip(allocated, bound, strict=True):  # noqa: SIM110 - as above
        if amount - most >= MIN_RESOURCE:
            return True
    return False
