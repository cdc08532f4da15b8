"""Claims, volumes and storage classes as the filters of volumes need them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pumice import Inventory, Pod, Raw
from pumice.kube import units
from pumice_builtin_plugins.kube.label_columns import LabelColumns

_BOUND = "pv.kubernetes.io/bind-completed"
_CLASS = "volume.beta.kubernetes.io/storage-class"
_SELECTED = "volume.kubernetes.io/selected-node"
WAITS = "WaitForFirstConsumer"


class StorageError(Exception):
    """Why no node at all can take a pod, for its volumes' sake."""


class Claim:
    """One PersistentVolumeClaim."""

    __slots__ = ("annotations", "key", "raw", "size", "spec", "storage_class", "volume")

    def __init__(self, key: str, raw: Raw) -> None:
        self.key = key
        self.raw = raw
        self.spec: Mapping[str, Any] = raw.get("spec") or {}
        self.annotations: Mapping[str, str] = meta(raw).get("annotations") or {}
        self.volume: str = self.spec.get("volumeName") or ""
        self.storage_class: str = (
            self.annotations.get(_CLASS) or self.spec.get("storageClassName") or ""
        )
        requests = (self.spec.get("resources") or {}).get("requests") or {}
        self.size = size_of(requests.get("storage", 0))

    @property
    def bound(self) -> bool:
        phase = (self.raw.get("status") or {}).get("phase")
        return bool(self.volume) and (_BOUND in self.annotations or phase == "Bound")

    @property
    def selected_node(self) -> str:
        """The node that a provisioner is making a volume for already."""
        return self.annotations.get(_SELECTED, "")


class Volume:
    """One PersistentVolume."""

    __slots__ = ("labels", "name", "owner", "phase", "size", "spec", "storage_class")

    def __init__(self, name: str, raw: Raw) -> None:
        self.name = name
        self.spec: Mapping[str, Any] = raw.get("spec") or {}
        self.labels: Mapping[str, str] = meta(raw).get("labels") or {}
        self.storage_class: str = self.spec.get("storageClassName") or ""
        self.size = size_of((self.spec.get("capacity") or {}).get("storage", 0))
        self.phase: str = (raw.get("status") or {}).get("phase") or ""
        reference = self.spec.get("claimRef") or {}
        self.owner = (
            f"{reference.get('namespace') or 'default'}/{reference['name']}"
            if (reference.get("name"))
            else ""
        )
        if meta(raw).get("deletionTimestamp"):
            self.phase = "Released"


class Storage:
    """All storage objects of a session, and which nodes each volume can be reached from."""

    def __init__(self, inventory: Inventory, columns: LabelColumns) -> None:
        others = inventory.others
        self._claims: Mapping[str, Raw] = others.get("PersistentVolumeClaim", {})
        self._read: dict[str, Claim] = {}
        self.volumes = {
            name: Volume(name, raw) for name, raw in others.get("PersistentVolume", {}).items()
        }
        self.classes: Mapping[str, Raw] = others.get("StorageClass", {})
        self.drivers: Mapping[str, Raw] = others.get("CSIDriver", {})
        self.capacities: list[Raw] = list(others.get("CSIStorageCapacity", {}).values())
        self._csi_nodes: Mapping[str, Raw] = others.get("CSINode", {})
        self._columns = columns
        self._reach: dict[str, np.ndarray] = {}

    def claim(self, key: str) -> Claim | None:
        found = self._read.get(key)
        if found is None and key in self._claims:
            found = self._read[key] = Claim(key, self._claims[key])
        return found

    def claims(self, pod: Pod) -> Iterator[Claim]:
        """The claims of a pod; those that do not exist are left out."""
        for key in claim_keys(pod):
            found = self.claim(key)
            if found is not None:
                yield found

    def checked_claims(self, pod: Pod) -> list[Claim]:
        """The claims of a pod.

        :raises StorageError: one is missing, lost or being deleted.
        """
        result = []
        for volume in pod.volumes:
            key = _claim_key(pod, volume)
            if key is None:
                continue
            name = key.partition("/")[2]
            claim = self.claim(key)
            if claim is None:
                if "ephemeral" in volume:
                    raise StorageError(
                        "waiting for ephemeral volume controller to create the "
                        f'persistentvolumeclaim "{name}"'
                    )
                raise StorageError(f'persistentvolumeclaim "{name}" not found')
            if meta(claim.raw).get("deletionTimestamp"):
                raise StorageError(f'persistentvolumeclaim "{name}" is being deleted')
            if (claim.raw.get("status") or {}).get("phase") == "Lost":
                raise StorageError(
                    f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume '
                    f'"{claim.volume}"'
                )
            result.append(claim)
        return result

    def waits(self, claim: Claim) -> bool:
        """Whether a claim is bound only when a pod that uses it is placed.

        :raises StorageError: its storage class does not exist.
        """
        if not claim.storage_class:
            return False
        raw = self.classes.get(claim.storage_class)
        if raw is None:
            raise StorageError(f'storageclass.storage.k8s.io "{claim.storage_class}" not found')
        return raw.get("volumeBindingMode") == WAITS

    def provisioner(self, claim: Claim) -> str:
        return (self.classes.get(claim.storage_class) or {}).get("provisioner") or ""

    def reach(self, volume: Volume) -> np.ndarray:
        """Mask over all nodes: those that the volume's node affinity allows."""
        found = self._reach.get(volume.name)
        if found is None:
            required = (volume.spec.get("nodeAffinity") or {}).get("required")
            found = self._columns.all() if required is None else self._columns.selector(required)
            self._reach[volume.name] = found
        return found

    def allowed(self, claim: Claim) -> np.ndarray:
        """Mask over all nodes: those where the claim's class may make volumes."""
        key = f"class {claim.storage_class}"
        found = self._reach.get(key)
        if found is None:
            terms = (self.classes.get(claim.storage_class) or {}).get("allowedTopologies") or ()
            found = self._columns.all() if not terms else ~self._columns.all()
            for term in terms:
                mask = self._columns.all()
                for wanted in term.get("matchLabelExpressions") or ():
                    column = self._columns.column(wanted.get("key", ""))
                    mask &= column.one_of(wanted.get("values") or ())
                found = found | mask
            self._reach[key] = found
        return found

    def limits(self, node: str) -> dict[str, int]:
        """Per CSI driver: how many volumes the node can attach."""
        drivers = ((self._csi_nodes.get(node) or {}).get("spec") or {}).get("drivers") or ()
        return {
            driver.get("name", ""): driver["allocatable"]["count"]
            for driver in drivers
            if (driver.get("allocatable") or {}).get("count") is not None
        }

    def attachment(self, claim: Claim) -> tuple[str, str] | None:
        """CSI driver and handle of what a node attaches for a claim; None: nothing by CSI."""
        volume = self.volumes.get(claim.volume)
        if volume is not None:
            csi = volume.spec.get("csi")
            return (csi.get("driver", ""), csi.get("volumeHandle", "")) if csi else None
        provisioner = self.provisioner(claim)
        return (provisioner, f"{provisioner}-{claim.key}") if provisioner else None


def claim_keys(pod: Pod) -> Iterator[str]:
    for volume in pod.volumes:
        key = _claim_key(pod, volume)
        if key is not None:
            yield key


def _claim_key(pod: Pod, volume: Raw) -> str | None:
    named = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    if named:
        return f"{pod.namespace}/{named}"
    if "ephemeral" in volume:
        return f"{pod.namespace}/{pod.name}-{volume.get('name', '')}"
    return None


def size_of(quantity: Any) -> int:
    """Bytes; what cannot be read is nothing."""
    try:
        return units(quantity)
    except ValueError:
        return 0


def meta(raw: Raw) -> Mapping[str, Any]:
    return raw.get("metadata") or {}
