"""Volume claims, persistent volumes and storage classes, as the volume filters need them."""

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
_WAIT_FOR_CONSUMER = "WaitForFirstConsumer"


class StorageError(Exception):
    """Why no node at all can run a pod with its volumes."""


class VolumeClaim:
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
        """The node for which a volume is being provisioned already."""
        return self.annotations.get(_SELECTED, "")


class PersistentVolume:
    """One PersistentVolume."""

    __slots__ = ("claim", "labels", "name", "phase", "size", "spec", "storage_class")

    def __init__(self, name: str, raw: Raw) -> None:
        self.name = name
        self.spec: Mapping[str, Any] = raw.get("spec") or {}
        self.labels: Mapping[str, str] = meta(raw).get("labels") or {}
        self.storage_class: str = self.spec.get("storageClassName") or ""
        self.size = size_of((self.spec.get("capacity") or {}).get("storage", 0))
        self.phase: str = (raw.get("status") or {}).get("phase") or ""
        reference = self.spec.get("claimRef") or {}
        self.claim = (
            f"{reference.get('namespace') or 'default'}/{reference['name']}"
            if reference.get("name")
            else ""
        )
        """The key of the claim that it is reserved for; empty: none."""
        if meta(raw).get("deletionTimestamp"):
            self.phase = "Released"


class Storage:
    """All storage objects of a session, and the nodes that can use them."""

    def __init__(self, inventory: Inventory, columns: LabelColumns) -> None:
        others = inventory.others
        self._raw_claims: Mapping[str, Raw] = others.get("PersistentVolumeClaim", {})
        self._claims: dict[str, VolumeClaim] = {}
        self.volumes = {
            name: PersistentVolume(name, raw)
            for name, raw in others.get("PersistentVolume", {}).items()
        }
        self.classes: Mapping[str, Raw] = others.get("StorageClass", {})
        self.drivers: Mapping[str, Raw] = others.get("CSIDriver", {})
        self.capacities: list[Raw] = list(others.get("CSIStorageCapacity", {}).values())
        self._csi_nodes: Mapping[str, Raw] = others.get("CSINode", {})
        self._columns = columns
        self._nodes_of_volume: dict[str, np.ndarray] = {}
        self._nodes_of_class: dict[str, np.ndarray] = {}

    # -- claims of pods

    def claim(self, key: str) -> VolumeClaim | None:
        claim = self._claims.get(key)
        if claim is None and key in self._raw_claims:
            claim = self._claims[key] = VolumeClaim(key, self._raw_claims[key])
        return claim

    def claims(self, pod: Pod) -> Iterator[VolumeClaim]:
        """The claims of a pod; those that do not exist are left out."""
        for key in claim_keys(pod):
            claim = self.claim(key)
            if claim is not None:
                yield claim

    def checked_claims(self, pod: Pod) -> list[VolumeClaim]:
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

    # -- storage classes

    def waits_for_consumer(self, claim: VolumeClaim) -> bool:
        """Whether a claim is bound only when a pod that uses it is placed.

        :raises StorageError: its storage class does not exist.
        """
        if not claim.storage_class:
            return False
        raw = self.classes.get(claim.storage_class)
        if raw is None:
            raise StorageError(f'storageclass.storage.k8s.io "{claim.storage_class}" not found')
        return raw.get("volumeBindingMode") == _WAIT_FOR_CONSUMER

    def provisioner(self, claim: VolumeClaim) -> str:
        return (self.classes.get(claim.storage_class) or {}).get("provisioner") or ""

    def provisioning_nodes(self, claim: VolumeClaim) -> np.ndarray:
        """Mask over all nodes: those for which the claim's class may provision a volume."""
        nodes = self._nodes_of_class.get(claim.storage_class)
        if nodes is None:
            terms = (self.classes.get(claim.storage_class) or {}).get("allowedTopologies") or ()
            nodes = self._columns.all() if not terms else ~self._columns.all()
            for term in terms:
                mask = self._columns.all()
                for expression in term.get("matchLabelExpressions") or ():
                    column = self._columns.column(expression.get("key", ""))
                    mask &= column.one_of(expression.get("values") or ())
                nodes = nodes | mask
            self._nodes_of_class[claim.storage_class] = nodes
        return nodes

    # -- volumes

    def volume_nodes(self, volume: PersistentVolume) -> np.ndarray:
        """Mask over all nodes: those that the volume's node affinity allows."""
        nodes = self._nodes_of_volume.get(volume.name)
        if nodes is None:
            required = (volume.spec.get("nodeAffinity") or {}).get("required")
            nodes = self._columns.all() if required is None else self._columns.selector(required)
            self._nodes_of_volume[volume.name] = nodes
        return nodes

    def attach_limits(self, node: str) -> dict[str, int]:
        """Per CSI driver: how many volumes the node can attach."""
        drivers = ((self._csi_nodes.get(node) or {}).get("spec") or {}).get("drivers") or ()
        return {
            driver.get("name", ""): driver["allocatable"]["count"]
            for driver in drivers
            if (driver.get("allocatable") or {}).get("count") is not None
        }

    def attachment(self, claim: VolumeClaim) -> tuple[str, str] | None:
        """CSI driver and handle of what a node attaches for a claim; None: nothing by CSI."""
        volume = self.volumes.get(claim.volume)
        if volume is not None:
            csi = volume.spec.get("csi")
            return (csi.get("driver", ""), csi.get("volumeHandle", "")) if csi else None
        provisioner = self.provisioner(claim)
        return (provisioner, f"{provisioner}-{claim.key}") if provisioner else None


def claim_keys(pod: Pod) -> Iterator[str]:
    """The keys of the claims that the pod's volumes refer to."""
    for volume in pod.volumes:
        key = _claim_key(pod, volume)
        if key is not None:
            yield key


def _claim_key(pod: Pod, volume: Raw) -> str | None:
    name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
    if name:
        return f"{pod.namespace}/{name}"
    if "ephemeral" in volume:
        return f"{pod.namespace}/{pod.name}-{volume.get('name', '')}"
    return None


def size_of(quantity: Any) -> int:
    """Bytes; 0 for an unreadable quantity."""
    try:
        return units(quantity)
    except ValueError:
        return 0


def meta(raw: Raw) -> Mapping[str, Any]:
    return raw.get("metadata") or {}
