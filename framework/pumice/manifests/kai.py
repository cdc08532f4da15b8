"""KAI's own kinds: queues and pod groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime

from msgspec import Raw, Struct

from pumice.manifests.metadata import ObjectDecoder, Unread, epoch
from pumice.manifests.pool import Pool
from pumice.manifests.shapes import TopologyConstraint
from pumice.manifests.wire import (
    Count,
    Int32,
    MalformedError,
    Object,
    duration,
)
from pumice.model.facts import UNLIMITED, PodGroup, Queue, SubGroup
from pumice.model.gpu.request import GPU
from pumice.model.resources import Resource

KAI_API = "scheduling.run.ai"
Number = int | float


class QueueResourceWire(Struct, rename="camel", gc=False):
    quota: Number | None = None
    limit: Number | None = None
    over_quota_weight: Number | None = None


class QueueResourcesWire(Struct, gc=False):
    cpu: QueueResourceWire | None = None
    memory: QueueResourceWire | None = None
    gpu: QueueResourceWire | None = None


class QueueSpec(Struct, rename="camel", gc=False):
    display_name: str | None = None
    parent_queue: str | None = None
    priority: Int32 | None = None
    preempt_min_runtime: str | None = None
    reclaim_min_runtime: str | None = None
    resources: QueueResourcesWire | None = None


_QUEUE = ObjectDecoder(QueueSpec, Unread)
_DEFAULT_PRIORITY = 100
_UNLIMITED = -1
_UNITS = {"cpu": 1, "memory": 10**6, "gpu": 1000}


def read_queue(raw: Raw, pool: Pool) -> Queue:
    """The facts of a KAI queue; an amount that is not set is zero, -1 is unlimited."""
    meta, spec, _ = _QUEUE.parts(raw, pool)
    resources = spec.resources or QueueResourcesWire()
    return Queue(
        name=meta.name,
        family="kai",
        api_group=KAI_API,
        parent=spec.parent_queue or "",
        priority=_DEFAULT_PRIORITY if spec.priority is None else spec.priority,
        deserved=_resources(resources, "quota"),
        limit=_resources(resources, "limit"),
        over_quota_weight=_weights(resources),
        labels=meta.labels,
        annotations=meta.annotations,
        display_name=spec.display_name or "",
        preempt_min_runtime=_runtime(spec.preempt_min_runtime, "spec.preemptMinRuntime"),
        reclaim_min_runtime=_runtime(spec.reclaim_min_runtime, "spec.reclaimMinRuntime"),
        created=meta.created,
    )


def _resources(resources: QueueResourcesWire, field: str) -> Resource:
    amounts = {
        name: _scaled(_quantity(resources, name, field), unit) for name, unit in _UNITS.items()
    }
    return Resource(amounts["cpu"], amounts["memory"], {GPU: amounts["gpu"]})


def _weights(resources: QueueResourcesWire) -> Resource:
    """Over-quota weights have no unit and are taken as they are; KAI itself writes -1, too."""
    cpu, memory, gpu = (_number(resources, name, "over_quota_weight") for name in _UNITS)
    return Resource(cpu, memory, {GPU: gpu})


def _quantity(resources: QueueResourcesWire, name: str, field: str) -> float:
    value = _number(resources, name, field)
    if value == _UNLIMITED:
        return UNLIMITED
    if value < 0:
        message = f"spec.resources.{name}.{field}: {value:g} is negative"
        raise MalformedError(message, "-1 means unlimited")
    return value


def _number(resources: QueueResourcesWire, name: str, field: str) -> float:
    value: float | None = getattr(getattr(resources, name), field, None)
    return value or 0


def _scaled(value: float, unit: int) -> float:
    scaled = value * unit
    if isinstance(scaled, float) and math.isfinite(scaled):
        scaled = round(scaled, 6)
        return int(scaled) if scaled.is_integer() else scaled
    return scaled


def _runtime(text: str | None, at: str) -> float | None:
    return duration(text, at) if text else None


class SubGroupWire(Struct, rename="camel", gc=False):
    name: str
    min_member: Count | None = None
    parent: str | None = None
    topology_constraint: TopologyConstraint | None = None


class GroupSpec(Struct, rename="camel", gc=False):
    queue: str | None = None
    min_member: Count | None = None
    priority_class_name: str | None = None
    preemptibility: str | None = None
    mark_unschedulable: bool | None = None
    scheduling_backoff: int | None = None
    topology_constraint: TopologyConstraint | None = None
    sub_groups: list[SubGroupWire] | None = None


class GroupStatus(Struct, rename="camel", gc=False):
    phase: str | None = None
    scheduling_conditions: list[Object] | None = None


_GROUP = ObjectDecoder(GroupSpec, GroupStatus)
_LAST_START = "kai.scheduler/last-start-timestamp"
_STALE = "kai.scheduler/stale-podgroup-timestamp"


def read_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a KAI pod group."""
    meta, spec, status = _GROUP.parts(raw, pool)
    name, namespace = meta.name, meta.namespace or "default"
    if not spec.queue:
        raise MalformedError("spec.queue: is empty")
    return PodGroup(
        uid=f"{namespace}/{name}",
        name=name,
        namespace=namespace,
        family="kai",
        api_group=KAI_API,
        queue=spec.queue,
        min_member=spec.min_member or 0,
        priority_class=spec.priority_class_name or "",
        labels=meta.labels,
        annotations=meta.annotations,
        created=meta.created,
        phase=status.phase or "",
        conditions=status.scheduling_conditions or (),
        sub_groups=[_sub_group(sub) for sub in spec.sub_groups or ()] or (),
        topology_constraint=_topology_constraint(spec.topology_constraint),
        preemptibility=spec.preemptibility or "",
        scheduling_backoff=spec.scheduling_backoff,
        last_start=_annotated_time(meta.annotations, _LAST_START),
        stale_since=_annotated_time(meta.annotations, _STALE),
        mark_unschedulable=spec.mark_unschedulable is not False,
    )


def _annotated_time(annotations: Mapping[str, str], key: str) -> float | None:
    """The time in an annotation; None where there is none or it is malformed."""
    try:
        return epoch(datetime.fromisoformat(annotations[key]))
    except (KeyError, ValueError):
        return None


def _sub_group(wire: SubGroupWire) -> SubGroup:
    return SubGroup(
        name=wire.name,
        min_member=1 if wire.min_member is None else wire.min_member,
        parent=wire.parent or "",
        topology_constraint=_topology_constraint(wire.topology_constraint),
    )


def _topology_constraint(constraint: TopologyConstraint | None) -> Object | None:
    return None if constraint is None else {**constraint}
