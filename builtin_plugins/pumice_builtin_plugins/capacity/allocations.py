"""What all queues hold: updated by every event, copied for simulations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pumice import ALLOCATED_STATUSES, Job, Session, Task
from pumice_builtin_plugins.capacity.devices import ClaimedDevices, ClaimReader, DeviceAccount
from pumice_builtin_plugins.capacity.queues import CapacityQueue
from pumice_builtin_plugins.quota.resource_columns import (
    ResourceColumns,
    add_request,
    subtract_request,
)


class SimulatedQueue(NamedTuple):
    """What a queue holds in a simulation."""

    allocated: list[int]
    devices: DeviceAccount


class Allocations:
    """Counts tasks in and out of their queue and all its ancestors."""

    def __init__(
        self,
        queues: Mapping[str, CapacityQueue],
        columns: ResourceColumns,
        claims: ClaimReader | None,
    ) -> None:
        self._queues = queues
        self._columns = columns
        self._claims = claims
        self._reserved: set[str] = set()
        """Uids of tasks with a reservation."""
        self._formerly_reserved: set[str] = set()
        """Uids of tasks that were placed on their reservation."""

    def count_devices(self, session: Session) -> None:
        """Count the claims of placed tasks and of the minimums of admitted jobs."""
        if self._claims is None:
            return
        for job in session.jobs.values():
            for queue in self._path(job.queue):
                for task in job.having(*ALLOCATED_STATUSES):
                    queue.devices.allocate(self._claims.of(task))
            if job.phase == "Inqueue":
                self.admit_devices(job)

    def admit_devices(self, job: Job) -> None:
        claims = self.claims_of_minimum(job)
        for queue in self._path(job.queue):
            queue.devices.admit(claims)

    def claims_of_minimum(self, job: Job) -> ClaimedDevices:
        return {} if self._claims is None else self._claims.of_minimum(job)

    def _claims_of(self, task: Task) -> ClaimedDevices:
        return {} if self._claims is None else self._claims.of(task)

    def _path(self, name: str) -> tuple[CapacityQueue, ...]:
        queue = self._queues.get(name)
        return () if queue is None else queue.path

    # -- admission of tasks

    def allocatable(self, leaf: CapacityQueue, task: Task) -> bool:
        """Whether the task fits into its queue and every ancestor."""
        request, claims = self._columns.request(task), self._claims_of(task)
        for queue in leaf.path:
            if not queue.fits(task, request):
                return False
            if claims and queue.devices.insufficient(claims):
                return False
        return True

    def reserve(self, leaf: CapacityQueue, task: Task) -> None:
        """Reserve the request of a task whose queue gate is lifted now; it is placed later."""
        self._reserved.add(task.uid)
        for queue in leaf.path:
            queue.reserved[task.uid] = self._columns.request(task)

    # -- events

    def allocate(self, task: Task) -> None:
        was_reserved = task.uid in self._reserved
        if was_reserved:
            self._reserved.remove(task.uid)
            self._formerly_reserved.add(task.uid)
        claims = self._claims_of(task)
        for queue in self._path(task.queue):
            queue.account.allocate(task)
            if claims:
                queue.devices.allocate(claims)
            if was_reserved:
                del queue.reserved[task.uid]

    def deallocate(self, task: Task) -> None:
        reserve_again = task.uid in self._formerly_reserved
        if reserve_again:
            self._formerly_reserved.remove(task.uid)
            self._reserved.add(task.uid)
        claims = self._claims_of(task)
        for queue in self._path(task.queue):
            queue.account.deallocate(task)
            if claims:
                queue.devices.deallocate(claims)
            if reserve_again:
                queue.reserved[task.uid] = self._columns.request(task)

    # -- simulation

    def simulate(self, simulated: dict[str, SimulatedQueue], task: Task, *, added: bool) -> None:
        """Count a task in or out of the queues of one simulation."""
        claims = self._claims_of(task)
        for queue in self._path(task.queue):
            copy = _copy(simulated, queue)
            if added:
                add_request(copy.allocated, task)
                copy.devices.allocate(claims)
            else:
                subtract_request(copy.allocated, task)
                copy.devices.deallocate(claims)

    def simulate_allocatable(
        self, simulated: dict[str, SimulatedQueue], leaf: CapacityQueue, task: Task
    ) -> bool:
        """The same as :meth:`allocatable` in one simulation."""
        request, claims = self._columns.request(task), self._claims_of(task)
        for queue in leaf.path:
            copy = _copy(simulated, queue)
            if not queue.fits(task, request, copy.allocated) or copy.devices.insufficient(claims):
                return False
        return True


def _copy(simulated: dict[str, SimulatedQueue], queue: CapacityQueue) -> SimulatedQueue:
    copy = simulated.get(queue.name)
    if copy is None:
        copy = SimulatedQueue(list(queue.account.allocated), queue.devices.copy())
        simulated[queue.name] = copy
    return copy
