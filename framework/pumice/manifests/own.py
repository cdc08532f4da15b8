"""Pumice's own kinds, for clusters that have neither Volcano's nor KAI's, and its own labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from msgspec import Raw, Struct

from pumice.manifests.metadata import ObjectDecoder, Unread
from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.volcano import GroupStatus, queue_resources, read_conditions
from pumice.manifests.wire import Count, Int32, Object
from pumice.model.facts import PodGroup, Queue
from pumice.model.facts import Raw as Content

OWN_API = "scheduling.pumice"
"""The API group of Pumice's own Queue and PodGroup."""
QUEUE_LABEL = "pumice/queue"
"""The label or annotation that names the queue of a pod or of a native pod group."""
GANG_LABEL = "pumice/gang"
"""The label or annotation that names a pod's gang, within its namespace."""
_QUEUES = (QUEUE_LABEL, "kai.scheduler/queue", "scheduling.volcano.sh/queue-name")


class Labelled(Protocol):
    """Anything with labels and annotations."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]


def mark_of(item: Labelled, key: str) -> str:
    """The value of an annotation, else of the label of that name; empty: neither is there."""
    return item.annotations.get(key) or item.labels.get(key) or ""


def queue_of(item: Labelled) -> str:
    """The queue that an object names by a label or annotation of Pumice, KAI or Volcano."""
    for key in _QUEUES:
        name = mark_of(item, key)
        if name:
            return name
    return ""


def level_constraint(key: str | None) -> Content | None:
    """The constraint that all pods of a group run on nodes with one value of a label."""
    return {"nodeLabel": key, "requiredTopologyLevel": key} if key else None


class QueueSpec(Struct, gc=False):
    parent: str | None = None
    weight: Count | None = None
    priority: Int32 | None = None
    reclaimable: bool | None = None
    closed: bool | None = None
    deserved: Object | None = None
    guarantee: Object | None = None
    limit: Object | None = None


_QUEUE = ObjectDecoder(QueueSpec, Unread)


def read_queue(raw: Raw, pool: Pool) -> Queue:
    """The facts of a queue; a resource that a list does not name is not bounded by it."""
    meta, spec, _ = _QUEUE.parts(raw, pool)
    devices: dict[str, Object] = {}
    return Queue(
        name=meta.name,
        parent=spec.parent or "",
        weight=1 if spec.weight is None else spec.weight,
        priority=spec.priority or 0,
        reclaimable=spec.reclaimable is not False,
        state="Closed" if spec.closed else "Open",
        deserved=queue_resources("deserved", spec.deserved, devices),
        guarantee=queue_resources("guarantee", spec.guarantee, devices),
        limit=queue_resources("limit", spec.limit, devices, unlimited=True),
        labels=meta.labels,
        annotations=meta.annotations,
        device_limits=devices,
        created=meta.created,
        api_group=OWN_API,
    )


class GroupSpec(Struct, rename="camel", gc=False):
    queue: str | None = None
    min_member: Count | None = None
    min_resources: Object | None = None
    priority_class_name: str | None = None
    topology_key: str | None = None


_GROUP = ObjectDecoder(GroupSpec, GroupStatus)


def read_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a pod group; its pods are those whose ``pumice/gang`` has its name."""
    meta, spec, status = _GROUP.parts(raw, pool)
    namespace = meta.namespace or "default"
    listed = spec.min_resources
    return PodGroup(
        uid=f"{namespace}/{meta.name}",
        name=meta.name,
        namespace=namespace,
        queue=spec.queue or "",
        min_member=1 if spec.min_member is None else spec.min_member,
        min_resources=None if listed is None else pool.resource_list("spec.minResources", listed),
        priority_class=spec.priority_class_name or "",
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        created=meta.created,
        phase=status.phase or "",
        conditions=read_conditions(status.conditions),
        topology_constraint=level_constraint(spec.topology_key),
        api_group=OWN_API,
    )
