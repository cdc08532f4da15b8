"""Pod groups of both families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.shapes import Condition, LabelSelector, TopologyConstraint
from pumice.manifests.wire import Count, MalformedError, Metadata, Object, decode, epoch
from pumice.model.facts import NetworkTopology, PodGroup, SubGroup, SubGroupPolicy
from pumice.model.quantity import amount


class TopologyWire(Struct, rename="camel", gc=False):
    mode: Literal["hard", "soft", ""] | None = None
    highest_tier_allowed: Count | None = None
    highest_tier_name: str | None = None


class PolicyWire(Struct, rename="camel", gc=False):
    name: str
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    sub_group_size: Count | None = None
    min_sub_groups: Count | None = None
    network_topology: TopologyWire | None = None


class VolcanoSpec(Struct, rename="camel", gc=False):
    queue: str | None = None
    min_member: Count | None = None
    min_task_member: dict[str, Count] | None = None
    min_resources: Object | None = None
    priority_class_name: str | None = None
    network_topology: TopologyWire | None = None
    sub_group_policy: list[PolicyWire] | None = None


class VolcanoStatus(Struct, gc=False):
    phase: str | None = None
    conditions: list[Condition] | None = None


class VolcanoWire(Struct, gc=False):
    metadata: Metadata | None = None
    spec: VolcanoSpec | None = None
    status: VolcanoStatus | None = None


_VOLCANO = msgspec.json.Decoder(VolcanoWire)


def read_volcano_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a Volcano pod group; an empty queue is for the caller to fill in.

    ``quota_min_resources`` has every name of minResources, also those that are no resource of
    a node (``requests.cpu``): quotas are compared by name.
    """
    wire = decode(_VOLCANO, "", raw)
    meta, spec, status = (
        wire.metadata or Metadata(),
        wire.spec or VolcanoSpec(),
        wire.status or VolcanoStatus(),
    )
    name, namespace = meta.named(), meta.namespace or "default"
    listed = spec.min_resources
    group = PodGroup(
        uid=f"{namespace}/{name}",
        name=name,
        namespace=namespace,
        family="volcano",
        queue=spec.queue or "",
        min_member=spec.min_member or 0,
        min_task_member=spec.min_task_member or EMPTY,
        min_resources=None if listed is None else pool.resource_list("spec.minResources", listed),
        priority_class=spec.priority_class_name or "",
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        created=epoch(meta.creation_timestamp),
        phase=status.phase or "",
        conditions=_plain(status.conditions),
        network_topology=_topology(spec.network_topology),
        sub_group_policies=[_policy(policy) for policy in spec.sub_group_policy or ()] or (),
    )
    if listed:
        group.quota_min_resources = {n: amount(n, value) for n, value in listed.items()}
    return group


def _topology(wire: TopologyWire | None) -> NetworkTopology | None:
    if wire is None:
        return None
    return NetworkTopology(
        mode=wire.mode or "",
        highest_tier_allowed=wire.highest_tier_allowed,
        highest_tier_name=wire.highest_tier_name or "",
    )


def _policy(wire: PolicyWire) -> SubGroupPolicy:
    return SubGroupPolicy(
        name=wire.name,
        label_selector=None if wire.label_selector is None else {**wire.label_selector},
        match_label_keys=tuple(wire.match_label_keys or ()),
        size=wire.sub_group_size,
        min_sub_groups=wire.min_sub_groups,
        network_topology=_topology(wire.network_topology),
    )


class SubGroupWire(Struct, rename="camel", gc=False):
    name: str
    min_member: Count | None = None
    parent: str | None = None
    topology_constraint: TopologyConstraint | None = None


class KaiSpec(Struct, rename="camel", gc=False):
    queue: str | None = None
    min_member: Count | None = None
    priority_class_name: str | None = None
    preemptibility: str | None = None
    mark_unschedulable: bool | None = None
    scheduling_backoff: int | None = None
    topology_constraint: TopologyConstraint | None = None
    sub_groups: list[SubGroupWire] | None = None


class KaiStatus(Struct, rename="camel", gc=False):
    phase: str | None = None
    scheduling_conditions: list[Object] | None = None


class KaiWire(Struct, gc=False):
    metadata: Metadata | None = None
    spec: KaiSpec | None = None
    status: KaiStatus | None = None


_KAI = msgspec.json.Decoder(KaiWire)
_LAST_START = "kai.scheduler/last-start-timestamp"
_STALE = "kai.scheduler/stale-podgroup-timestamp"


def read_kai_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a KAI pod group."""
    wire = decode(_KAI, "", raw)
    meta, spec, status = (
        wire.metadata or Metadata(),
        wire.spec or KaiSpec(),
        wire.status or KaiStatus(),
    )
    name, namespace = meta.named(), meta.namespace or "default"
    if not spec.queue:
        raise MalformedError("spec.queue: names no queue")
    return PodGroup(
        uid=f"{namespace}/{name}",
        name=name,
        namespace=namespace,
        family="kai",
        queue=spec.queue,
        min_member=spec.min_member or 0,
        priority_class=spec.priority_class_name or "",
        labels=meta.labels or EMPTY,
        annotations=meta.annotations or EMPTY,
        created=epoch(meta.creation_timestamp),
        phase=status.phase or "",
        conditions=status.scheduling_conditions or (),
        sub_groups=[_sub_group(sub) for sub in spec.sub_groups or ()] or (),
        topology_constraint=_plain_constraint(spec.topology_constraint),
        preemptibility=spec.preemptibility or "",
        scheduling_backoff=spec.scheduling_backoff,
        last_start=_noted(meta.annotations, _LAST_START),
        stale_since=_noted(meta.annotations, _STALE),
        mark_unschedulable=spec.mark_unschedulable is not False,
    )


def _noted(annotations: Mapping[str, str] | None, key: str) -> float | None:
    """The time that an annotation tells; None where it tells none."""
    try:
        return epoch(datetime.fromisoformat((annotations or EMPTY)[key]))
    except (KeyError, ValueError):
        return None


def _sub_group(wire: SubGroupWire) -> SubGroup:
    return SubGroup(
        name=wire.name,
        min_member=1 if wire.min_member is None else wire.min_member,
        parent=wire.parent or "",
        topology_constraint=_plain_constraint(wire.topology_constraint),
    )


def _plain_constraint(constraint: TopologyConstraint | None) -> Object | None:
    return None if constraint is None else {**constraint}


def _plain(conditions: Sequence[Condition] | None) -> Sequence[dict[str, Any]]:
    return [{**condition} for condition in conditions or ()] or ()
