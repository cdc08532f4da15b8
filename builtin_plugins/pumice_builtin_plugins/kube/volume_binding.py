"""Volume filters: bound, bindable or provisionable on a node, in its zone, within attach limits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from pumice import Code, Task
from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.filter_statuses import STATUSES
from pumice_builtin_plugins.kube.pod_counts import PodCounts
from pumice_builtin_plugins.kube.storage import (
    PersistentVolume,
    Storage,
    StorageError,
    VolumeClaim,
    claim_keys,
)
from pumice_builtin_plugins.kube.storage_capacity import has_capacity

VOLUME_MISSING = STATUSES.id(
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)", Code.UNRESOLVABLE
)
VOLUME_ELSEWHERE = STATUSES.id(
    "node(s) didn't match PersistentVolume's node affinity", Code.UNRESOLVABLE
)
NOTHING_TO_BIND = STATUSES.id(
    "node(s) didn't find available persistent volumes to bind", Code.UNRESOLVABLE
)
NO_CAPACITY = STATUSES.id("node(s) did not have enough free storage", Code.UNRESOLVABLE)
WRONG_ZONE = STATUSES.id("node(s) had no available volume zone", Code.UNRESOLVABLE)
TOO_MANY = STATUSES.id("node(s) exceed max volume count")

_ZONE_LABELS = {
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Each label of zones and regions, with the current name of the same label."""
_UNPROVISIONED = ("", "kubernetes.io/no-provisioner")


class _Binding(NamedTuple):
    """How the unbound claims of one task get their volumes."""

    bound: dict[str, str]
    """Claim → existing volume."""
    provisioned: tuple[str, ...]
    """Claims for which volumes are to be provisioned."""


class VolumeBinder:
    """The volume filters, and the volumes that tasks placed in this session have reserved."""

    def __init__(self, storage: Storage, pod_counts: PodCounts) -> None:
        self._storage = storage
        self._pod_counts = pod_counts
        self._bound: dict[str, str] = {}
        """Claim → the volume that it will be bound to."""
        self._provisioned: dict[str, int] = {}
        """Claim → row of the node for which a volume will be provisioned."""
        self._bindings: dict[str, _Binding] = {}
        """By uid of a placed task."""

    @staticmethod
    def concerns(task: Task) -> bool:
        return bool(task.pod.volumes) and next(claim_keys(task.pod), None) is not None

    def check(self, task: Task) -> None:
        """:raises StorageError: no node at all can run the task."""
        for claim in self._storage.checked_claims(task.pod):
            if not claim.bound and (claim.volume or not self._storage.waits_for_consumer(claim)):
                raise StorageError("pod has unbound immediate PersistentVolumeClaims")

    def statuses(self, task: Task, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Attach limits, zone and binding: the status of each of the rows."""
        listed = rows.tolist()
        return (
            np.array([self.limit_status(task, row) for row in listed], np.int64),
            np.array([self.zone_status(task, row) for row in listed], np.int64),
            np.array([self.binding_status(task, row) for row in listed], np.int64),
        )

    def limit_status(self, task: Task, row: int) -> int:
        """Whether the node can attach the task's CSI volumes beside those that it has."""
        limits = self._storage.attach_limits(self._pod_counts.table.names[row])
        if not limits:
            return 0
        wanted = self._attachments(task)
        if not any(driver in limits for driver, _ in wanted):
            return 0
        attached: set[tuple[str, str]] = set()
        for other in self._pod_counts.pods(row):
            if other.pod.volumes:
                attached |= self._attachments(other)
        for driver, limit in limits.items():
            new = sum(item[0] == driver for item in wanted - attached)
            if new and new + sum(item[0] == driver for item in attached) > limit:
                return TOO_MANY
        return 0

    def zone_status(self, task: Task, row: int) -> int:
        """Whether the node is in the zone and region that bound volumes are labelled with."""
        labels = self._pod_counts.table.facts[row].labels
        if not any(key in labels for key in _ZONE_LABELS):
            return 0
        for claim in self._storage.claims(task.pod):
            volume = self._storage.volumes.get(claim.volume)
            if volume is not None and not _in_zone(volume, labels):
                return WRONG_ZONE
        return 0

    def binding_status(self, task: Task, row: int) -> int:
        """Whether bound volumes are usable on the node and the other claims can be bound there."""
        binding = self._find_binding(task, row)
        return binding if isinstance(binding, int) else 0

    # -- reservations

    def reserve(self, task: Task, row: int) -> str | None:
        """Reserve the volumes of a task that has been placed; the reason if that fails."""
        binding = self._find_binding(task, row)
        if isinstance(binding, int):
            return str(STATUSES.error((binding,)))
        self._bindings[task.uid] = binding
        self._bound.update(binding.bound)
        self._provisioned.update(dict.fromkeys(binding.provisioned, row))
        return None

    def release(self, task: Task) -> None:
        binding = self._bindings.pop(task.uid, None)
        if binding is not None:
            for claim in binding.bound:
                del self._bound[claim]
            for claim in binding.provisioned:
                del self._provisioned[claim]

    def to_bind(self, task: Task) -> Mapping[str, str]:
        """Claim → volume, for the claims that are to be bound with the placed task."""
        binding = self._bindings.get(task.uid)
        return {} if binding is None else binding.bound

    # -- the search for volumes

    def _find_binding(self, task: Task, row: int) -> _Binding | int:
        """The volumes that the task would use on the node, or the status of the filter."""
        storage, node = self._storage, self._pod_counts.table.facts[row]
        to_bind, to_provision = [], []
        for claim in storage.claims(task.pod):
            name = claim.volume if claim.bound else self._bound.get(claim.key)
            if name is not None:
                volume = storage.volumes.get(name)
                if volume is None:
                    return VOLUME_MISSING
                if not storage.volume_nodes(volume)[row]:
                    return VOLUME_ELSEWHERE
            elif claim.key in self._provisioned:
                if self._provisioned[claim.key] != row:
                    return NOTHING_TO_BIND
            elif claim.selected_node:
                if claim.selected_node != node.name:
                    return NOTHING_TO_BIND
                to_provision.append(claim)
            else:
                to_bind.append(claim)
        chosen: dict[str, str] = {}
        for claim in sorted(to_bind, key=lambda claim: (claim.size, claim.key)):
            match = self._smallest_match(claim, row, chosen.values())
            if match is None:
                to_provision.append(claim)
            else:
                chosen[claim.key] = match.name
        for claim in to_provision:
            provisioner = storage.provisioner(claim)
            if provisioner in _UNPROVISIONED or not storage.provisioning_nodes(claim)[row]:
                return NOTHING_TO_BIND
            if not has_capacity(storage, claim, node.labels):
                return NO_CAPACITY
        return _Binding(chosen, tuple(claim.key for claim in to_provision))

    def _smallest_match(
        self, claim: VolumeClaim, row: int, chosen: Iterable[str]
    ) -> PersistentVolume | None:
        """The volume reserved for the claim, else the smallest available one that matches it."""
        best: PersistentVolume | None = None
        taken = {*chosen, *self._bound.values()}
        for volume in self._storage.volumes.values():
            if volume.storage_class != claim.storage_class or volume.name in taken:
                continue
            if volume.claim != claim.key and (volume.claim or volume.phase != "Available"):
                continue
            if not _matches(claim, volume) or not self._storage.volume_nodes(volume)[row]:
                continue
            if volume.claim == claim.key:
                return volume
            if best is None or (volume.size, volume.name) < (best.size, best.name):
                best = volume
        return best

    def _attachments(self, task: Task) -> set[tuple[str, str]]:
        items = (self._storage.attachment(claim) for claim in self._storage.claims(task.pod))
        return {item for item in items if item is not None}


def _matches(claim: VolumeClaim, volume: PersistentVolume) -> bool:
    """Whether size, access modes, volume mode and labels of the volume are what is claimed."""
    modes = set(claim.spec.get("accessModes") or ())
    if volume.size < claim.size or not modes <= set(volume.spec.get("accessModes") or ()):
        return False
    kinds = [spec.get("volumeMode") or "Filesystem" for spec in (claim.spec, volume.spec)]
    if kinds[0] != kinds[1]:
        return False
    selector = claim.spec.get("selector")
    return selector is None or matches_selector(selector, volume.labels)


def _in_zone(volume: PersistentVolume, labels: Mapping[str, str]) -> bool:
    for key, current in _ZONE_LABELS.items():
        wanted = volume.labels.get(key)
        if wanted is not None and labels.get(key, labels.get(current)) not in wanted.split("__"):
            return False
    return True
