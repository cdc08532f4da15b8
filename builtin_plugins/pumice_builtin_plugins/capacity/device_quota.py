"""Devices that pods claim, counted per queue against the queue's device quota.

Amounts have the names that queues use: ``deviceclass/NAME`` for the number of devices of a class,
``DIMENSION.deviceclass/NAME`` for a capacity taken of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from loguru import logger

from pumice import ALLOCATED_STATUSES, Job, Queue, Session, Task
from pumice.kube import amount

_CLASS = "deviceclass/"
_ONE = 1000

Demand = Mapping[str, int]
"""Name → amount in thousandths."""
Claims = Mapping[str, Demand]
"""Claim (``namespace/name``) → what it demands."""
_NOTHING: Claims = {}


class ClaimReader:
    """What the claims of tasks demand; each claim is read once a cycle."""

    def __init__(self, session: Session, *, capacities: bool) -> None:
        others = session.cluster.inventory.others
        self._claims = others.get("ResourceClaim", {})
        self._templates = others.get("ResourceClaimTemplate", {})
        self._capacities = capacities
        self._demands: dict[str, Demand] = {}

    def of(self, task: Task) -> Claims:
        if not task.pod.resource_claims:
            return _NOTHING
        return dict(self._named(task))

    def of_minimum(self, job: Job) -> Claims:
        """The claims of as many tasks as the job needs, of each role where roles are counted."""
        claims: dict[str, Demand] = {}
        for task in _minimum(job):
            claims.update(self.of(task))
        return claims

    def _named(self, task: Task) -> Iterator[tuple[str, Demand]]:
        for reference in task.pod.resource_claims:
            name, template = (
                reference.get(key) for key in ("resourceClaimName", "resourceClaimTemplateName")
            )
            if name:
                key = f"{task.namespace}/{name}"
                source = self._claims.get(key, {}).get("spec")
            elif template:
                # The claim is not made yet, and will be this pod's alone.
                key = f"{task.key}/{reference.get('name', '')}"
                made_from = self._templates.get(f"{task.namespace}/{template}", {})
                source = (made_from.get("spec") or {}).get("spec")
            else:
                continue
            if key not in self._demands:
                self._demands[key] = self._read(key, source)
            yield key, self._demands[key]

    def _read(self, key: str, spec: Any) -> Demand:
        demand: Counter[str] = Counter()
        try:
            for request in ((spec or {}).get("devices") or {}).get("requests") or ():
                # Of alternatives the first, the one that is preferred, is counted.
                wanted = request.get("exactly") or next(
                    iter(request.get("firstAvailable") or ()), request
                )
                device, count = wanted.get("deviceClassName"), int(wanted.get("count") or 1)
                if not device:
                    continue
                demand[f"{_CLASS}{device}"] += count * _ONE
                if self._capacities:
                    asked = (wanted.get("capacity") or {}).get("requests") or {}
                    for dimension, value in asked.items():
                        name = f"{dimension}.{_CLASS}{device}"
                        demand[name] += count * amount(name, value)
        except (AttributeError, TypeError, ValueError) as error:
            logger.warning("resource claim {} cannot be read and counts as nothing: {}", key, error)
            return {}
        return dict(demand)


class DeviceBooks:
    """The claims of a queue's tasks: each counts once, however many tasks share it."""

    __slots__ = ("_held", "_holders", "_promised", "limits")

    def __init__(self, limits: Demand) -> None:
        self.limits = limits
        self._holders: Counter[str] = Counter()
        """By claim: how many tasks hold it."""
        self._held: Counter[str] = Counter()
        """What the held claims demand together."""
        self._promised: dict[str, Demand] = {}

    def copy(self) -> DeviceBooks:
        other = DeviceBooks(self.limits)
        other._holders = Counter(self._holders)
        other._held = Counter(self._held)
        other._promised = dict(self._promised)
        return other

    def add(self, claims: Claims) -> None:
        for key, demand in claims.items():
            if not self._holders[key]:
                self._held.update(demand)
            self._holders[key] += 1

    def take(self, claims: Claims) -> None:
        for key, demand in claims.items():
            self._holders[key] -= 1
            if not self._holders[key]:
                self._held.subtract(demand)

    def promise(self, claims: Claims) -> None:
        """Keep room for the minimum of a job that was let into the queue."""
        self._promised.update(claims)

    def lacks(self, claims: Claims, *, promised: bool = False) -> list[str]:
        """The names of which there is not enough for these claims beside those held.

        With ``promised`` what admitted jobs were promised counts as held.
        """
        if not claims or not self.limits:
            return []
        asked = {name for demand in claims.values() for name in demand}
        total = Counter(self._held)
        for key, demand in {**(self._promised if promised else {}), **claims}.items():
            if not self._holders[key]:
                total.update(demand)
        return sorted(name for name in asked if self._exceeded(name, total[name]))

    def _exceeded(self, name: str, total: int) -> bool:
        if name in self.limits:
            return total > self.limits[name]
        dimension, _, device = name.partition(_CLASS)
        # A class of which anything is limited is limited in all capacities, not in number.
        return bool(dimension) and any(
            limited.partition(_CLASS)[2] == device for limited in self.limits
        )


def device_limits(queue: Queue) -> dict[str, int]:
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
