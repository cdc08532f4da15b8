"""Allocates devices of nodes to the resource claims of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pumice import Code, Task
from pumice_builtin_plugins.kube.dra.objects import (
    Device,
    DeviceError,
    DeviceId,
    DeviceRequest,
    DraObjects,
    ResourceClaim,
    allocated_devices,
)
from pumice_builtin_plugins.kube.filter_statuses import STATUSES

ELSEWHERE = STATUSES.id("resourceclaim not available on the node", Code.UNRESOLVABLE)
NOT_ALLOCATABLE = STATUSES.id("cannot allocate all claims", Code.UNRESOLVABLE)

_MAX_STEPS = 20_000
"""Devices that are tried for one node before the search is given up."""

Picks = tuple[tuple[DeviceRequest, Device], ...]
Allocation = dict[str, Picks]
"""Devices by claim."""


class DeviceAllocator:
    """The devices of a session, and those that tasks placed in it have reserved."""

    def __init__(self, objects: DraObjects) -> None:
        self._objects = objects
        self._in_use: set[DeviceId] = set(objects.in_use)
        self._allocated: Allocation = {}
        """Claims that were allocated in this cycle, or adopted."""
        self._users: dict[str, set[str]] = {}
        """Claim → the placed tasks that use its allocation."""
        self._claims_of: dict[str, list[str]] = {}
        """Placed task → its claims that are allocated here."""
        self._adopted: set[str] = set()
        """Claims whose allocation in the cluster counts as made here, so it can be released."""

    def adopt(self, task: Task) -> None:
        """Count the allocations of a running task's claims as made here.

        Devices of a claim that cannot be read, because its class is gone, stay in use.
        """
        try:
            claims = self._objects.claims(task.pod)
        except DeviceError:
            return
        by_id = {device.id: device for device in self._objects.devices}
        keys = []
        for claim in claims:
            if claim.allocation is None or not claim.requests:
                continue
            keys.append(claim.key)
            self._users.setdefault(claim.key, set()).add(task.uid)
            if claim.key not in self._adopted:
                self._adopted.add(claim.key)
                request = claim.requests[0][0]
                self._allocated[claim.key] = tuple(
                    (request, by_id[identity])
                    for identity in allocated_devices(claim.allocation)
                    if identity in by_id
                )
        self._claims_of[task.uid] = keys

    def check(self, task: Task) -> None:
        """:raises DeviceError: no node at all can serve the task's claims."""
        for claim in self._objects.claims(task.pod):
            if claim.deleting:
                raise DeviceError("resourceclaim is being deleted")

    def status(self, task: Task, row: int) -> int:
        """The filter's status of one node."""
        allocation = self._find(task, row)
        return allocation if isinstance(allocation, int) else 0

    def statuses(self, task: Task, rows: np.ndarray) -> np.ndarray:
        """The filter's status of each of the rows."""
        return np.array([self.status(task, row) for row in rows.tolist()], np.int64)

    def reserve(self, task: Task, row: int) -> str | None:
        """Allocate the devices of a task that has been placed; the reason if that fails."""
        allocation = self._find(task, row)
        if isinstance(allocation, int):
            return str(STATUSES.error((allocation,)))
        self._allocated.update(allocation)
        self._in_use.update(_exclusive(allocation))
        claims = self._objects.claims(task.pod)
        keys = [claim.key for claim in claims if claim.key in self._allocated]
        self._claims_of[task.uid] = keys
        for key in keys:
            self._users.setdefault(key, set()).add(task.uid)
        return None

    def release(self, task: Task) -> None:
        """Take the task's devices back where it was the last user of a claim."""
        for key in self._claims_of.pop(task.uid, ()):
            users = self._users[key]
            users.remove(task.uid)
            if not users:
                del self._users[key]
                self._in_use.difference_update(_exclusive({key: self._allocated.pop(key)}))

    def allocated(self, task: Task) -> dict[str, list[DeviceId]]:
        """Claim → devices, as allocated in this cycle."""
        return {
            key: [device.id for _, device in self._allocated[key]]
            for key in self._claims_of.get(task.uid, ())
        }

    def _find(self, task: Task, row: int) -> Allocation | int:
        """Devices for the claims that have none yet, or the status of the filter."""
        unallocated = []
        try:
            for claim in self._objects.claims(task.pod):
                if claim.allocation is not None and claim.key not in self._adopted:
                    if not self._objects.nodes_of(claim.allocation)[row]:
                        return ELSEWHERE
                elif claim.key in self._allocated:
                    if not all(device.nodes[row] for _, device in self._allocated[claim.key]):
                        return ELSEWHERE
                else:
                    unallocated.append(claim)
            if not unallocated:
                return {}
            devices = [device for device in self._objects.devices if device.nodes[row]]
            allocation = _Search(devices, self._in_use).first(unallocated)
            return NOT_ALLOCATABLE if allocation is None else allocation
        except DeviceError as error:
            return STATUSES.id(str(error), Code.ERROR)


def _exclusive(allocation: Allocation) -> set[DeviceId]:
    """The devices that no other claim can have: those without admin access."""
    return {
        device.id
        for picks in allocation.values()
        for request, device in picks
        if not request.admin_access
    }


class _Search:
    """Depth-first search for devices for all requests of some claims."""

    def __init__(self, devices: Sequence[Device], in_use: set[DeviceId]) -> None:
        self._devices = devices
        self._in_use = set(in_use)
        self._steps = 0

    def first(self, claims: Sequence[ResourceClaim]) -> Allocation | None:
        """The first combination that fits; None: there is none.

        :raises DeviceError: a selector fails for some device.
        """
        return next(self._claims(claims, {}), None)

    def _claims(
        self, claims: Sequence[ResourceClaim], allocation: Allocation
    ) -> Iterator[Allocation]:
        if not claims:
            yield allocation
            return
        claim = claims[0]
        for picks in self._requests(claim, 0, ()):
            yield from self._claims(claims[1:], {**allocation, claim.key: picks})

    def _requests(self, claim: ResourceClaim, index: int, picks: Picks) -> Iterator[Picks]:
        if index == len(claim.requests):
            yield picks
            return
        for request in claim.requests[index]:
            candidates = self._candidates(request)
            count = request.number or len(candidates)
            if count:
                for more in self._pick(claim, request, candidates, count, picks):
                    yield from self._requests(claim, index + 1, more)

    def _pick(
        self,
        claim: ResourceClaim,
        request: DeviceRequest,
        candidates: Sequence[Device],
        count: int,
        picks: Picks,
    ) -> Iterator[Picks]:
        """The picks with ``count`` of the candidates added, in every way, in order."""
        if count == 0:
            yield picks
            return
        for position, device in enumerate(candidates[: len(candidates) - count + 1]):
            self._steps += 1
            if self._steps > _MAX_STEPS:
                return
            if self._is_in_use(request, device) or not _matches(claim, request, device, picks):
                continue
            if not request.admin_access:
                self._in_use.add(device.id)
            more = (*picks, (request, device))
            yield from self._pick(claim, request, candidates[position + 1 :], count - 1, more)
            if not request.admin_access:
                self._in_use.discard(device.id)

    def _is_in_use(self, request: DeviceRequest, device: Device) -> bool:
        return not request.admin_access and device.id in self._in_use

    def _candidates(self, request: DeviceRequest) -> list[Device]:
        return [
            device
            for device in self._devices
            if all(device.matches(expression) for expression in request.expressions)
        ]


def _matches(claim: ResourceClaim, request: DeviceRequest, device: Device, picks: Picks) -> bool:
    """Whether the device agrees with those picked so far in the claim's matchAttributes."""
    for attribute, names in claim.match_attributes:
        if names and request.name not in names:
            continue
        value: Any = device.attributes.get(attribute)
        if value is None:
            return False
        for earlier, other in picks:
            if (not names or earlier.name in names) and other.attributes.get(attribute) != value:
                return False
    return True
