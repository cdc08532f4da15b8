"""Kubernetes kinds with few fields, and those that are stored as they are."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.metadata import MetadataWire, ObjectDecoder, read_metadata
from pumice.manifests.pool import Pool
from pumice.manifests.shapes import LabelSelector
from pumice.manifests.stored_shapes import shape_of
from pumice.manifests.wire import (
    ANY_OBJECT,
    Int32,
    MalformedError,
    Object,
    decode,
)
from pumice.model.facts import DisruptionBudget, PriorityClass, ResourceQuota
from pumice.model.quantity import amount


class PriorityWire(Struct, rename="camel", gc=False):
    metadata: MetadataWire | None = None
    value: Int32 | None = None
    global_default: bool | None = None
    preemption_policy: str | None = None


_PRIORITY = msgspec.json.Decoder(PriorityWire)


def read_priority_class(raw: Raw, pool: Pool) -> PriorityClass:
    wire = decode(_PRIORITY, "", raw)
    return PriorityClass(
        name=read_metadata(wire.metadata, pool).name,
        value=wire.value or 0,
        global_default=bool(wire.global_default),
        preemption_policy=wire.preemption_policy or "",
    )


class BudgetSpec(Struct, gc=False):
    selector: LabelSelector | None = None


class BudgetStatus(Struct, rename="camel", gc=False):
    disruptions_allowed: Int32 | None = None
    disrupted_pods: dict[str, Any] | None = None


_BUDGET = ObjectDecoder(BudgetSpec, BudgetStatus)


def read_budget(raw: Raw, pool: Pool) -> DisruptionBudget:
    meta, spec, status = _BUDGET.parts(raw, pool)
    return DisruptionBudget(
        name=meta.name,
        namespace=meta.namespace or "default",
        selector=None if spec.selector is None else {**spec.selector},
        disruptions_allowed=status.disruptions_allowed or 0,
        disrupted_pods=frozenset(status.disrupted_pods or ()),
    )


class QuotaAmounts(Struct, gc=False):
    hard: Object | None = None
    used: Object | None = None


_QUOTA = ObjectDecoder(QuotaAmounts, QuotaAmounts)


def read_quota(raw: Raw, pool: Pool) -> ResourceQuota:
    """A resource quota in the units of its resources, by its own names (``requests.cpu``)."""
    meta, spec, status = _QUOTA.parts(raw, pool)
    hard = spec.hard if status.hard is None else status.hard
    whole: Object = decode(ANY_OBJECT, "", raw)
    return ResourceQuota(
        name=meta.name,
        namespace=meta.namespace or "default",
        hard=_amounts("hard", hard or {}),
        used=_amounts("used", status.used or {}),
        raw=whole,
    )


def _amounts(field: str, listed: Object) -> dict[str, float]:
    try:
        return {name: amount(name, value) for name, value in listed.items()}
    except ValueError as error:
        raise MalformedError(f"{field}.{error}") from None


class OtherWire(Struct, gc=False):
    metadata: MetadataWire | None = None
    spec: Object | None = None
    status: Object | None = None


_OTHER = msgspec.json.Decoder(OtherWire)
_NAMESPACED = frozenset(
    {
        "PersistentVolumeClaim",
        "ConfigMap",
        "BindRequest",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "CSIStorageCapacity",
    }
)


def read_other(kind: str, raw: Raw, pool: Pool) -> tuple[str, Object]:
    """Key and content of an object that is stored whole; of a ConfigMap without its data."""
    wire = decode(_OTHER, "", raw)
    meta = read_metadata(wire.metadata, pool)
    namespace = meta.namespace or ("default" if kind in _NAMESPACED else "")
    decode(shape_of(kind), "", raw)
    content = decode(ANY_OBJECT, "", raw)
    content["metadata"].pop("managedFields", None)
    if kind == "ConfigMap":
        content = {key: content[key] for key in ("apiVersion", "kind", "metadata")}
    return f"{namespace}/{meta.name}" if namespace else meta.name, content
