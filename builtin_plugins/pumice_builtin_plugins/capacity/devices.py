"""Devices that pods claim (dynamic resource allocation), counted against a queue's capability.

Amounts are named as in a queue's spec: ``deviceclass/NAME`` for the number of devices of a class,
``DIMENSION.deviceclass/NAME`` for a consumed capacity of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loguru import logger

from pumice import ALLOCATED_STATUSES, Job, Queue, Session, Task
from pumice.kube import amount

_CLASS = "deviceclass/"
_ONE_DEVICE = 1000

DeviceAmounts = Mapping[str, int]
"""Name → amount in thousandths."""
ClaimedDevices = Mapping[str, DeviceAmounts]
"""ResourceClaim (``namespace/name``) → what it requests."""
_NO_CLAIMS: ClaimedDevices = {}


class ClaimReader:
    """What the resource claims of tasks request; each claim is read once per cycle."""

    def __init__(self, session: Session, *, capacities: bool) -> None:
        others = session.cluster.inventory.others
        self._claims = others.get("ResourceClaim", {})
        self._templates = others.get("ResourceClaimTemplate", {})
        self._capacities = capacities
        self._requests: dict[str, DeviceAmounts] = {}

    def of(self, task: Task) -> ClaimedDevices:
        if not task.pod.resource_claims:
            return _NO_CLAIMS
        return dict(self._claimed(task))

    def of_minimum(self, job: Job) -> ClaimedDevices:
        """The claims of the job's minAvailable tasks, per role where roles have minimums."""
        claims: dict[str, DeviceAmounts] = {}
        for task in _minimum(job):
            claims.update(self.of(task))
        return claims

    def _claimed(self, task: Task) -> Iterator[tuple[str, DeviceAmounts]]:
        for reference in task.pod.resource_claims:
            name, template = (
                reference.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")
            )
            if name:
                key = f"{task.namespace}/{name}"
                spec = self._claims.get(key, {}).get("spec")
            elif template:
                # The claim does not exist yet and will belong to this pod alone.
                key = f"{task.key}/{reference.get('name', '')}"
                made_from = self._templates.get(f"{task.namespace}/{template}", {})
                spec = (made_from.get("spec") or {}).get("spec")
            else:
                continue
            if key not in self._requests:
                self._requests[key] = self._read(key, spec)
            yield key, self._requests[key]

    def _read(self, key: str, spec: Any) -> DeviceAmounts:
        amounts: Counter[str] = Counter()
        try:
            for request in ((spec or {}).get("devices") or {}).get("requests") or ():
                # Of alternatives only the first, which is preferred, counts.
                chosen = request.get("exactly") or next(
                    iter(request.get("firstAvailable") or ()), request
                )
                device, count = chosen.get("deviceClassName"), int(chosen.get("count") or 1)
                if not device:
                    continue
                amounts[f"{_CLASS}{device}"] += count * _ONE_DEVICE
                if self._capacities:
                    requested = (chosen.get("capacity") or {}).get("requests") or {}
                    for dimension, value in requested.items():
                        name = f"{dimension}.{_CLASS}{device}"
                        amounts[name] += count * amount(name, value)
        except (AttributeError, TypeError, ValueError) as error:
            logger.warning("resource claim {} cannot be read and counts as nothing: {}", key, error)
            return {}
        return dict(amounts)


class DeviceAccount:
    """The claims of a queue's tasks; a claim that several tasks share counts once."""

    __slots__ = ("_allocated", "_inqueue", "_users", "capability")

    def __init__(self, capability: DeviceAmounts) -> None:
        self.capability = capability
        self._users: Counter[str] = Counter()
        """By claim: how many tasks use it."""
        self._allocated: Counter[str] = Counter()
        """The sum over the claims in use."""
        self._inqueue: dict[str, DeviceAmounts] = {}
        """Claims of the minimums of admitted jobs."""

    def copy(self) -> DeviceAccount:
        other = DeviceAccount(self.capability)
        other._users = Counter(self._users)
        other._allocated = Counter(self._allocated)
        other._inqueue = dict(self._inqueue)
        return other

    def allocate(self, claims: ClaimedDevices) -> None:
        for key, amounts in claims.items():
            if not self._users[key]:
                self._allocated.update(amounts)
            self._users[key] += 1

    def deallocate(self, claims: ClaimedDevices) -> None:
        for key, amounts in claims.items():
            self._users[key] -= 1
            if not self._users[key]:
                self._allocated.subtract(amounts)

    def admit(self, claims: ClaimedDevices) -> None:
        """Count the minimum of a job that was admitted to the queue."""
        self._inqueue.update(claims)

    def insufficient(self, claims: ClaimedDevices, *, inqueue: bool = False) -> list[str]:
        """The names of which the capability has too little for these claims.

        With ``inqueue`` the minimums of admitted jobs count as allocated.
        """
        if not claims or not self.capability:
            return []
        requested = {name for amounts in claims.values() for name in amounts}
        total = Counter(self._allocated)
        for key, amounts in {**(self._inqueue if inqueue else {}), **claims}.items():
            if not self._users[key]:
                total.update(amounts)
        return sorted(name for name in requested if self._exceeded(name, total[name]))

    def _exceeded(self, name: str, total: int) -> bool:
        if name in self.capability:
            return total > self.capability[name]
        dimension, _, device = name.partition(_CLASS)
        # Volcano: a class with any capability bounds every capacity of it, but not its number.
        return bool(dimension) and any(
            bounded.partition(_CLASS)[2] == device for bounded in self.capability
        )


def device_capability(queue: Queue) -> dict[str, int]:
    """The device part of a queue's capability."""
    listed = queue.device_limits.get("capability") or {}
    return {name: amount(name, value) for name, value in listed.items()}


def _minimum(job: Job) -> Iterable[Task]:
    placed_first = sorted(
        job.tasks.values(), key=lambda task: task.status not in ALLOCATED_STATUSES
    )
    if not job.role_min:
        return placed_first[: job.min_available]
    left = dict(job.role_min)
    needed = []
    for task in placed_first:
        if left.get(task.role, 0) > 0:
            left[task.role] -= 1
            needed.append(task)
    return needed
