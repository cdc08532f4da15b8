"""The resources that are read of a cluster, and which of them it serves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

from pumice.manifests import NATIVE_API, OWN_API
from pumice_kubernetes.client import ApiError, Client


@dataclass(frozen=True, slots=True)
class Resource:
    """One kind of objects that is read."""

    group: str
    """The API group; empty: the core one."""
    plural: str
    """The name in the path."""
    kind: str
    """The kind of the objects."""
    required: bool = False
    """Whether there is no scheduling without it."""

    @property
    def label(self) -> str:
        """``plural.group``, as kubectl writes it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class Served:
    """A resource that the API server serves, at one version."""

    resource: Resource
    version: str
    """Such as ``v1``."""
    has_status: bool = False
    """Whether its status is written apart from the rest."""

    @property
    def api_version(self) -> str:
        """``group/version``."""
        group = self.resource.group
        return f"{group}/{self.version}" if group else self.version

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of all objects, of those of a namespace, or of one."""
        root = f"/apis/{self.api_version}" if self.resource.group else f"/api/{self.version}"
        parts = [root, f"namespaces/{namespace}" if namespace else "", self.resource.plural]
        return "/".join(part for part in (*parts, name, subresource) if part)


_VOLCANO, _KAI = "scheduling.volcano.sh", "scheduling.run.ai"
RESOURCES = (
    Resource("", "nodes", "Node", required=True),
    Resource("scheduling.k8s.io", "priorityclasses", "PriorityClass"),
    Resource(_VOLCANO, "queues", "Queue"),
    Resource(_KAI, "queues", "Queue"),
    Resource(OWN_API, "queues", "Queue"),
    Resource(_KAI, "bindrequests", "BindRequest"),
    Resource(NATIVE_API, "workloads", "Workload"),
    Resource(_VOLCANO, "podgroups", "PodGroup"),
    Resource(_KAI, "podgroups", "PodGroup"),
    Resource(NATIVE_API, "podgroups", "PodGroup"),
    Resource(OWN_API, "podgroups", "PodGroup"),
    Resource("topology.volcano.sh", "hypernodes", "HyperNode"),
    Resource("kai.scheduler", "topologies", "Topology"),
    Resource("nodeinfo.volcano.sh", "numatopologies", "Numatopology"),
    Resource("shard.volcano.sh", "nodeshards", "NodeShard"),
    Resource("", "resourcequotas", "ResourceQuota"),
    Resource("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
    Resource("", "persistentvolumeclaims", "PersistentVolumeClaim"),
    Resource("", "persistentvolumes", "PersistentVolume"),
    Resource("storage.k8s.io", "storageclasses", "StorageClass"),
    Resource("storage.k8s.io", "csinodes", "CSINode"),
    Resource("resource.k8s.io", "resourceclaims", "ResourceClaim"),
    Resource("resource.k8s.io", "resourceslices", "ResourceSlice"),
    Resource("resource.k8s.io", "deviceclasses", "DeviceClass"),
    Resource("batch", "jobs", "Job"),
    Resource("", "pods", "Pod", required=True),
)
"""Everything that is read; pods come last, so that what they refer to is known."""


async def served_resources(client: Client) -> list[Served]:
    """The resources that the API server serves, each at the version that it prefers."""
    groups = {group["name"]: group for group in (await client.get("/apis"))["groups"]}
    wanted = {resource.group for resource in RESOURCES if resource.group}
    paths = [("", "v1", "/api/v1")]
    for name in sorted(wanted & groups.keys()):
        group = groups[name]
        preferred = group.get("preferredVersion", {}).get("version", "")
        versions = [entry["version"] for entry in group["versions"]]
        versions.sort(key=lambda version: version != preferred)
        paths += [(name, version, f"/apis/{name}/{version}") for version in versions]
    lists = await asyncio.gather(*(_resource_list(client, path) for _, _, path in paths))
    chosen: dict[Resource, Served] = {}
    for (group_name, version, _), listed in zip(paths, lists, strict=True):
        names = {entry["name"] for entry in listed}
        for resource in RESOURCES:
            if resource.group == group_name and resource.plural in names:
                has_status = f"{resource.plural}/status" in names
                chosen.setdefault(resource, Served(resource, version, has_status))
    return [chosen[resource] for resource in RESOURCES if resource in chosen]


async def _resource_list(client: Client, path: str) -> list[dict[str, Any]]:
    try:
        return (await client.get(path)).get("resources") or []
    except ApiError as error:
        if error.status == 404:  # the group is going, or not there yet
            return []
        raise
