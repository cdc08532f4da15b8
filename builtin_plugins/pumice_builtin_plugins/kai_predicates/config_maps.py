"""ConfigMaps that a pod cannot start without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pumice import Inventory, Pod

_EXEMPT_PREFIX = "runai/shared-gpu-configmap"


class ConfigMaps:
    """The ConfigMaps of the cluster; without any, they are assumed not to be listed."""

    def __init__(self, inventory: Inventory) -> None:
        self._known = inventory.others.get("ConfigMap", {})
        self.are_listed = bool(self._known)
        """Whether any can be missing."""

    def missing(self, pod: Pod) -> list[str]:
        """The names of the ConfigMaps that the pod needs and that do not exist."""
        if not self._known:
            return []
        exempt = pod.annotations.get(_EXEMPT_PREFIX) or ""
        names = dict.fromkeys(
            reference["name"]
            for reference in _references(pod)
            if reference.get("name") and not reference.get("optional")
        )
        return [
            name
            for name in names
            if f"{pod.namespace}/{name}" not in self._known
            and not (exempt and name.startswith(exempt))
        ]


def _references(pod: Pod) -> Iterator[Mapping[str, Any]]:
    for volume in pod.volumes:
        yield volume.get("configMap") or {}
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield source.get("configMap") or {}
    for container in (*pod.containers, *pod.init_containers):
        for entry in container.env.get("env") or ():
            yield (entry.get("valueFrom") or {}).get("configMapKeyRef") or {}
        for entry in container.env.get("envFrom") or ():
            yield entry.get("configMapRef") or {}
