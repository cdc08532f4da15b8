"""Dynamic resources: whether a node has the devices that the claims of a task ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pumice import Code, Task
from pumice_builtin_plugins.kube.dra.claims import (
    Claim,
    Device,
    DeviceBook,
    DeviceError,
    DeviceId,
    Request,
    allocated_devices,
)
from pumice_builtin_plugins.kube.filter_reasons import STATUSES

ELSEWHERE = STATUSES.id("resourceclaim not available on the node", Code.UNRESOLVABLE)
LACKING = STATUSES.id("cannot allocate all claims", Code.UNRESOLVABLE)

_PATIENCE = 20_000
"""Combinations of devices that are tried for one node before it counts as unable."""

Picks = tuple[tuple[Request, Device], ...]
Grant = dict[str, Picks]
"""Devices by claim."""


class Devices:
    """The devices of a session, with what the tasks placed in it have taken so far."""

    def __init__(self, book: DeviceBook) -> None:
        self._book = book
        self._taken: set[DeviceId] = set(book.in_use)
        self._granted: Grant = {}
        self._users: dict[str, set[str]] = {}
        """Claim → the placed tasks that use what was granted to it in this cycle."""
        self._claims_of: dict[str, list[str]] = {}
        """Placed task → its claims of that kind."""
        self._adopted: set[str] = set()
        """Claims whose allocation in the cluster counts as granted here, so it can be released."""

    def adopt(self, task: Task) -> None:
        """Count what the claims of a running task hold as granted to it."""
        by_id = {device.id: device for device in self._book.devices}
        keys = []
        for claim in self._book.claims(task.pod):
            if claim.allocation is None:
                continue
            keys.append(claim.key)
            self._users.setdefault(claim.key, set()).add(task.uid)
            if claim.key not in self._adopted:
                self._adopted.add(claim.key)
                request = claim.requests[0][0]
                self._granted[claim.key] = tuple(
                    (request, by_id[identity])
                    for identity in allocated_devices(claim.allocation)
                    if identity in by_id
                )
        self._claims_of[task.uid] = keys

    def check(self, task: Task) -> None:
        """:raises DeviceError: no node at all can serve the task's claims."""
        for claim in self._book.claims(task.pod):
            if claim.deleting:
                raise DeviceError("resourceclaim is being deleted")

    def status(self, task: Task, row: int) -> int:
        plan = self._plan(task, row)
        return plan if isinstance(plan, int) else 0

    def statuses(self, task: Task, rows: np.ndarray) -> np.ndarray:
        return np.array([self.status(task, row) for row in rows.tolist()], np.int64)

    def _plan(self, task: Task, row: int) -> Grant | int:
        """The devices for the claims that have none yet, or the objection."""
        open_claims = []
        try:
            for claim in self._book.claims(task.pod):
                if claim.allocation is not None and claim.key not in self._adopted:
                    if not self._book.nodes_of(claim.allocation)[row]:
                        return ELSEWHERE
                elif claim.key in self._granted:
                    if not all(device.nodes[row] for _, device in self._granted[claim.key]):
                        return ELSEWHERE
                else:
                    open_claims.append(claim)
            if not open_claims:
                return {}
            devices = [device for device in self._book.devices if device.nodes[row]]
            grant = _Search(devices, self._taken).first(open_claims)
            return LACKING if grant is None else grant
        except DeviceError as error:
            return STATUSES.id(str(error), Code.ERROR)

    def reserve(self, task: Task, row: int) -> str | None:
        """Take the devices for a task that has been placed; answers why not, if not."""
        plan = self._plan(task, row)
        if isinstance(plan, int):
            return str(STATUSES.error((plan,)))
        self._granted.update(plan)
        self._taken.update(_exclusive(plan))
        keys = [claim.key for claim in self._book.claims(task.pod) if claim.key in self._granted]
        self._claims_of[task.uid] = keys
        for key in keys:
            self._users.setdefault(key, set()).add(task.uid)
        return None

    def release(self, task: Task) -> None:
        for key in self._claims_of.pop(task.uid, ()):
            users = self._users[key]
            users.remove(task.uid)
            if not users:
                del self._users[key]
                self._taken.difference_update(_exclusive({key: self._granted.pop(key)}))

    def plan(self, task: Task) -> dict[str, list[DeviceId]]:
        """Claim → devices, as granted in this cycle."""
        return {
            key: [device.id for _, device in self._granted[key]]
            for key in self._claims_of.get(task.uid, ())
        }


def _exclusive(grant: Grant) -> set[DeviceId]:
    """The devices that nobody else can have."""
    return {
        device.id for picks in grant.values() for request, device in picks if not request.shared
    }


class _Search:
    """Finds devices for all requests of some claims, the first combination that fits."""

    def __init__(self, devices: Sequence[Device], taken: set[DeviceId]) -> None:
        self._devices = devices
        self._taken = set(taken)
        self._steps = 0

    def first(self, claims: Sequence[Claim]) -> Grant | None:
        """None: there is no combination.

        :raises DeviceError: a selector has no value for some device.
        """
        return next(self._claims(claims, {}), None)

    def _claims(self, claims: Sequence[Claim], grant: Grant) -> Iterator[Grant]:
        if not claims:
            yield grant
            return
        claim = claims[0]
        for picks in self._requests(claim, 0, ()):
            yield from self._claims(claims[1:], {**grant, claim.key: picks})

    def _requests(self, claim: Claim, index: int, found: Picks) -> Iterator[Picks]:
        if index == len(claim.requests):
            yield found
            return
        for request in claim.requests[index]:
            candidates = self._candidates(request)
            count = request.wanted or len(candidates)
            if count:
                for more in self._some(claim, request, candidates, count, found):
                    yield from self._requests(claim, index + 1, more)

    def _some(
        self,
        claim: Claim,
        request: Request,
        candidates: Sequence[Device],
        count: int,
        found: Picks,
    ) -> Iterator[Picks]:
        """Ways to add ``count`` of the candidates, in order."""
        if count == 0:
            yield found
            return
        for position, device in enumerate(candidates[: len(candidates) - count + 1]):
            self._steps += 1
            if self._steps > _PATIENCE:
                return
            if self._busy(request, device) or not _agrees(claim, request, device, found):
                continue
            if not request.shared:
                self._taken.add(device.id)
            more = (*found, (request, device))
            yield from self._some(claim, request, candidates[position + 1 :], count - 1, more)
            if not request.shared:
                self._taken.discard(device.id)

    def _busy(self, request: Request, device: Device) -> bool:
        return not request.shared and device.id in self._taken

    def _candidates(self, request: Request) -> list[Device]:
        return [
            device
            for device in self._devices
            if all(device.matches(expression) for expression in request.expressions)
        ]


def _agrees(claim: Claim, request: Request, device: Device, found: Picks) -> bool:
    """Whether the device has the same attributes as those that it must have in common with."""
    for attribute, names in claim.same:
        if names and request.name not in names:
            continue
        value: Any = device.attributes.get(attribute)
        if value is None:
            return False
        for earlier, other in found:
            if (not names or earlier.name in names) and other.attributes.get(attribute) != value:
                return False
    return True
