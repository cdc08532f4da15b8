"""Free capacity of storage drivers that publish it."""

from __future__ import annotations

from collections.abc import Mapping

from pumice.kube import matches_selector
from pumice_builtin_plugins.kube.storage import Storage, VolumeClaim, size_of


def has_capacity(storage: Storage, claim: VolumeClaim, labels: Mapping[str, str]) -> bool:
    """Whether a volume of the claim's size can be provisioned for a node with these labels.

    A driver without ``storageCapacity`` is assumed to have enough.
    """
    driver = storage.drivers.get(storage.provisioner(claim)) or {}
    if not (driver.get("spec") or {}).get("storageCapacity"):
        return True
    for capacity in storage.capacities:
        if capacity.get("storageClassName") != claim.storage_class:
            continue
        largest = capacity.get("maximumVolumeSize") or capacity.get("capacity")
        if largest is None or size_of(largest) < claim.size:
            continue
        if matches_selector(capacity.get("nodeTopology"), labels):
            return True
    return False
