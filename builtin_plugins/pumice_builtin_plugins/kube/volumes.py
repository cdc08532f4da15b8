"""Filters of volumes: where they can be reached, bound or made, and how many a node attaches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pumice import Code, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.filter_reasons import STATUSES
from pumice_builtin_plugins.kube.pod_counts import PodCounts
from pumice_builtin_plugins.kube.storage import Claim, Storage, StorageError, Volume, claim_keys
from pumice_builtin_plugins.kube.storage_capacity import has_capacity

GONE = STATUSES.id(
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", Code.UNRESOLVABLE
)
OUT_OF_REACH = STATUSES.id(
    "node(s) didn't match PersistentVolume's node affinity", Code.UNRESOLVABLE
)
NOTHING_TO_BIND = STATUSES.id(
    "node(s) didn't find available persistent volumes to bind", Code.UNRESOLVABLE
)
NO_CAPACITY = STATUSES.id("node(s) did not have enough free storage", Code.UNRESOLVABLE)
WRONG_ZONE = STATUSES.id("node(s) had no available volume zone", Code.UNRESOLVABLE)
TOO_MANY = STATUSES.id("node(s) exceed max volume count")

_ZONES = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_UNPROVISIONED = ("", "kubernetes.io/no-provisioner")


class _Plan(NamedTuple):
    """What becomes of the unbound claims of one task."""

    bound: dict[str, str]
    """Claim → volume."""
    made: tuple[str, ...]
    """Claims that volumes will be made for."""


class Volumes:
    """The volumes of a session, with what the tasks placed in it have taken so far."""

    def __init__(self, storage: Storage, presence: PodCounts) -> None:
        self._storage = storage
        self._pod_counts = presence
        self._bound: dict[str, str] = {}
        """Claim → the volume that it will be bound to."""
        self._made: dict[str, int] = {}
        """Claim → the node for which a volume will be made."""
        self._plans: dict[str, _Plan] = {}
        """What each placed task took."""

    @staticmethod
    def concern(task: Task) -> bool:
        return bool(task.pod.volumes) and next(claim_keys(task.pod), None) is not None

    def check(self, task: Task) -> None:
        """:raises StorageError: no node at all can take the task."""
        for claim in self._storage.checked_claims(task.pod):
            if not claim.bound and (claim.volume or not self._storage.waits(claim)):
                raise StorageError("pod has unbound immediate PersistentVolumeClaims")

    # -- binding

    def binding(self, task: Task, row: int) -> int:
        """Whether the node reaches the bound claims and can have the others bound."""
        plan = self._plan(task, row)
        return plan if isinstance(plan, int) else 0

    def _plan(self, task: Task, row: int) -> _Plan | int:
        """What the task would take on the node, or the objection."""
        storage, node = self._storage, self._pod_counts.table.facts[row]
        to_bind, to_make = [], []
        for claim in storage.claims(task.pod):
            name = claim.volume if claim.bound else self._bound.get(claim.key)
            if name is not None:
                volume = storage.volumes.get(name)
                if volume is None:
                    return GONE
                if not storage.reach(volume)[row]:
                    return OUT_OF_REACH
            elif claim.key in self._made:
                if self._made[claim.key] != row:
                    return NOTHING_TO_BIND
            elif claim.selected_node:
                if claim.selected_node != node.name:
                    return NOTHING_TO_BIND
                to_make.append(claim)
            else:
                to_bind.append(claim)
        chosen: dict[str, str] = {}
        for claim in sorted(to_bind, key=lambda claim: (claim.size, claim.key)):
            found = self._match(claim, row, chosen.values())
            if found is None:
                to_make.append(claim)
            else:
                chosen[claim.key] = found.name
        for claim in to_make:
            provisioner = storage.provisioner(claim)
            if provisioner in _UNPROVISIONED or not storage.allowed(claim)[row]:
                return NOTHING_TO_BIND
            if not has_capacity(storage, claim, node.labels):
                return NO_CAPACITY
        return _Plan(chosen, tuple(claim.key for claim in to_make))

    def _match(self, claim: Claim, row: int, chosen: Iterable[str]) -> Volume | None:
        """The smallest free volume that suits the claim on the node."""
        best: Volume | None = None
        taken = {*chosen, *self._bound.values()}
        for volume in self._storage.volumes.values():
            if volume.storage_class != claim.storage_class or volume.name in taken:
                continue
            if volume.owner != claim.key and (volume.owner or volume.phase != "Available"):
                continue
            if not _suits(claim, volume) or not self._storage.reach(volume)[row]:
                continue
            if volume.owner == claim.key:
                return volume
            if best is None or (volume.size, volume.name) < (best.size, best.name):
                best = volume
        return best

    # -- zone and limits

    def zone(self, task: Task, row: int) -> int:
        """Whether the node is in the zone and region that bound volumes are labelled with."""
        labels = self._pod_counts.table.facts[row].labels
        if not any(key in labels for key in _ZONES):
            return 0
        for claim in self._storage.claims(task.pod):
            volume = self._storage.volumes.get(claim.volume)
            if volume is not None and not _in_zone(volume, labels):
                return WRONG_ZONE
        return 0

    def count(self, task: Task, row: int) -> int:
        """Whether the node can attach the task's CSI volumes besides those that it has."""
        limits = self._storage.limits(self._pod_counts.table.names[row])
        if not limits:
            return 0
        wanted = self._attachments(task)
        if not any(driver in limits for driver, _ in wanted):
            return 0
        attached: set[tuple[str, str]] = set()
        for pod in self._pod_counts.pods(row):
            if pod.pod.volumes:
                attached |= self._attachments(pod)
        for driver, limit in limits.items():
            new = sum(item[0] == driver for item in wanted - attached)
            if new and new + sum(item[0] == driver for item in attached) > limit:
                return TOO_MANY
        return 0

    def _attachments(self, task: Task) -> set[tuple[str, str]]:
        found = (self._storage.attachment(claim) for claim in self._storage.claims(task.pod))
        return {item for item in found if item is not None}

    # -- what happens

    def reserve(self, task: Task, row: int) -> str | None:
        """Take the volumes for a task that has been placed; answers why not, if not."""
        plan = self._plan(task, row)
        if isinstance(plan, int):
            return str(STATUSES.error((plan,)))
        self._plans[task.uid] = plan
        self._bound.update(plan.bound)
        self._made.update(dict.fromkeys(plan.made, row))
        return None

    def release(self, task: Task) -> None:
        plan = self._plans.pop(task.uid, None)
        if plan is not None:
            for claim in plan.bound:
                del self._bound[claim]
            for claim in plan.made:
                del self._made[claim]

    def plan(self, task: Task) -> Mapping[str, str]:
        """Claim → volume, for the claims that the placed task's bind is to bind."""
        plan = self._plans.get(task.uid)
        return {} if plan is None else plan.bound

    def statuses(self, task: Task, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Limits, zone and binding for each of the rows."""
        listed = rows.tolist()
        return (
            np.array([self.count(task, row) for row in listed], np.int64),
            np.array([self.zone(task, row) for row in listed], np.int64),
            np.array([self.binding(task, row) for row in listed], np.int64),
        )


def _suits(claim: Claim, volume: Volume) -> bool:
    modes = set(claim.spec.get("accessModes") or ())
    if volume.size < claim.size or not modes <= set(volume.spec.get("accessModes") or ()):
        return False
    kinds = [spec.get("volumeMode") or "Filesystem" for spec in (claim.spec, volume.spec)]
    if kinds[0] != kinds[1]:
        return False
    selector = claim.spec.get("selector")
    return selector is None or matches_selector(selector, volume.labels)


def _in_zone(volume: Volume, labels: Mapping[str, str]) -> bool:
    for key, current in _ZONES.items():
        wanted = volume.labels.get(key)
        if wanted is not None and labels.get(key, labels.get(current)) not in wanted.split("__"):
            return False
    return True
