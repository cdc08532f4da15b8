"""Queues of both families, in one vocabulary: cpu milli, memory bytes, GPUs milli."""

from __future__ import annotations

import math
from typing import Any

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.shapes import QueueAffinity, checked
from pumice.manifests.wire import (
    Count,
    Int32,
    MalformedError,
    Metadata,
    Object,
    decode,
    duration,
    epoch,
)
from pumice.model.facts import UNLIMITED, Queue
from pumice.model.quantity import amount
from pumice.model.resources import Resource

GPU = "nvidia.com/gpu"
_DEVICE_CLASS = "deviceclass/"


class GuaranteeWire(Struct, gc=False):
    resource: Object | None = None


class VolcanoSpec(Struct, gc=False):
    weight: Count | None = None
    priority: Int32 | None = None
    parent: str | None = None
    reclaimable: bool | None = None
    capability: Object | None = None
    deserved: Object | None = None
    guarantee: GuaranteeWire | None = None
    affinity: Raw = Raw()


class VolcanoStatus(Struct, gc=False):
    state: str | None = None


class VolcanoWire(Struct, gc=False):
    metadata: Metadata | None = None
    spec: VolcanoSpec | None = None
    status: VolcanoStatus | None = None


_VOLCANO = msgspec.json.Decoder(VolcanoWire)
_AFFINITY = checked(QueueAffinity, "spec.affinity")


def read_volcano_queue(raw: Raw, pool: Pool) -> Queue:
    """The facts of a Volcano queue.

    Inside a capability, cpu and memory that are missing or zero are unlimited; a scalar that is
    missing is not limited either, and stays missing.
    """
    wire = decode(_VOLCANO, "", raw)
    meta, spec = wire.metadata or Metadata(), wire.spec or VolcanoSpec()
    name = meta.named()
    devices: dict[str, Object] = {}
    limit = _amounts("capability", spec.capability, devices)
    if limit is not None:
        limit.cpu = limit.cpu or UNLIMITED
        limit.memory = limit.memory or UNLIMITED
    return Queue(
        name=name,
        family="volcano",
        # Upstream never looks at the parent of the root.
        parent="" if name == "root" else spec.parent or "",
        weight=1 if spec.weight is None else spec.weight,
        priority=spec.priority or 0,
        reclaimable=spec.reclaimable is not False,
        state=(wire.status and wire.status.state) or "Open",
        deserved=_amounts("deserved", spec.deserved, devices),
        guarantee=_amounts(
            "guarantee", spec.guarantee.resource if spec.guarantee else None, devices
        ),
        limit=limit,
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        affinity=pool.part("queue affinity", spec.affinity, _AFFINITY, EMPTY),
        device_limits=devices,
        created=epoch(meta.creation_timestamp),
    )


def _amounts(part: str, listed: Object | None, devices: dict[str, Object]) -> Resource | None:
    """One resource list of a queue; its device classes go to ``devices``, as they are read."""
    if listed is None:
        return None
    counted: Object = {}
    try:
        for name, value in listed.items():
            if _DEVICE_CLASS in name:
                amount(name, value)
                devices.setdefault(part, {})[name] = value
            else:
                counted[name] = value
        return Resource.from_list(counted)
    except ValueError as error:
        raise MalformedError(f"spec.{part}.{error}") from None


Number = int | float


class ShareWire(Struct, rename="camel", gc=False):
    quota: Number | None = None
    limit: Number | None = None
    over_quota_weight: Number | None = None


class SharesWire(Struct, gc=False):
    cpu: ShareWire | None = None
    memory: ShareWire | None = None
    gpu: ShareWire | None = None


class KaiSpec(Struct, rename="camel", gc=False):
    display_name: str | None = None
    parent_queue: str | None = None
    priority: Int32 | None = None
    preempt_min_runtime: str | None = None
    reclaim_min_runtime: str | None = None
    resources: SharesWire | None = None


class KaiWire(Struct, gc=False):
    metadata: Metadata | None = None
    spec: KaiSpec | None = None


_KAI = msgspec.json.Decoder(KaiWire)
_KAI_PRIORITY = 100
_KAI_UNLIMITED = -1
_KAI_UNITS = {"cpu": 1, "memory": 10**6, "gpu": 1000}


def read_kai_queue(raw: Raw, pool: Pool) -> Queue:
    """The facts of a KAI queue: what is unset is zero, -1 is unlimited."""
    wire = decode(_KAI, "", raw)
    meta, spec = wire.metadata or Metadata(), wire.spec or KaiSpec()
    shares = spec.resources or SharesWire()
    return Queue(
        name=meta.named(),
        family="kai",
        parent=spec.parent_queue or "",
        priority=_KAI_PRIORITY if spec.priority is None else spec.priority,
        deserved=_bound(shares, "quota"),
        limit=_bound(shares, "limit"),
        over_quota_weight=_weights(shares),
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        display_name=spec.display_name or "",
        preempt_min_runtime=_runtime(spec.preempt_min_runtime, "spec.preemptMinRuntime"),
        reclaim_min_runtime=_runtime(spec.reclaim_min_runtime, "spec.reclaimMinRuntime"),
        created=epoch(meta.creation_timestamp),
    )


def _bound(shares: SharesWire, part: str) -> Resource:
    amounts = {
        name: _scaled(_quantity(shares, name, part), unit) for name, unit in _KAI_UNITS.items()
    }
    return Resource(amounts["cpu"], amounts["memory"], {GPU: amounts["gpu"]})


def _weights(shares: SharesWire) -> Resource:
    """Weights are numbers without a unit, kept as they are read: KAI's own have -1 too."""
    cpu, memory, gpu = (_number(shares, name, "over_quota_weight") for name in _KAI_UNITS)
    return Resource(cpu, memory, {GPU: gpu})


def _quantity(shares: SharesWire, name: str, part: str) -> float:
    value = _number(shares, name, part)
    if value == _KAI_UNLIMITED:
        return UNLIMITED
    if value < 0:
        message = f"spec.resources.{name}.{part}: {value:g} is negative"
        raise MalformedError(message, "-1 means unlimited")
    return value


def _number(shares: SharesWire, name: str, part: str) -> float:
    value: float | None = getattr(getattr(shares, name), part, None)
    return value or 0


def _scaled(value: float, unit: int) -> float:
    scaled = value * unit
    if isinstance(scaled, float) and math.isfinite(scaled):
        scaled = round(scaled, 6)
        return int(scaled) if scaled.is_integer() else scaled
    return scaled


def _runtime(text: str | None, at: str) -> float | None:
    return duration(text, at) if text else None


def made_queue(name: str, **facts: Any) -> Queue:
    """A queue that Volcano makes at its start where it is missing."""
    return Queue(name=name, family="volcano", weight=1, **facts)
