"""Volcano's own kinds: queues, pod groups and hypernodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from pumice.kube.patterns import pattern
from pumice.manifests.metadata import MetadataWire, ObjectDecoder, read_metadata
from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.shapes import (
    Condition,
    HyperNodeMember,
    LabelSelector,
    QueueAffinity,
    checked,
)
from pumice.manifests.wire import (
    Count,
    Int32,
    MalformedError,
    Object,
    decode,
)
from pumice.model.facts import (
    UNLIMITED,
    HyperNode,
    NetworkTopology,
    PodGroup,
    Queue,
    SubGroupPolicy,
)
from pumice.model.quantity import amount
from pumice.model.resources import Resource

VOLCANO_API = "scheduling.volcano.sh"
_DEVICE_CLASS = "deviceclass/"


class GuaranteeWire(Struct, gc=False):
    resource: Object | None = None


class QueueSpec(Struct, gc=False):
    weight: Count | None = None
    priority: Int32 | None = None
    parent: str | None = None
    reclaimable: bool | None = None
    capability: Object | None = None
    deserved: Object | None = None
    guarantee: GuaranteeWire | None = None
    affinity: Raw = Raw()


class QueueStatus(Struct, gc=False):
    state: str | None = None


_QUEUE = ObjectDecoder(QueueSpec, QueueStatus)
_QUEUE_AFFINITY = checked(QueueAffinity, "spec.affinity")


def read_queue(raw: Raw, pool: Pool) -> Queue:
    """The facts of a Volcano queue.

    In ``capability``, cpu and memory are unlimited where they are missing or zero. A missing scalar
    is unlimited, too, and stays missing.
    """
    meta, spec, status = _QUEUE.parts(raw, pool)
    devices: dict[str, Object] = {}
    return Queue(
        name=meta.name,
        family="volcano",
        api_group=VOLCANO_API,
        # Volcano never reads the parent of the root queue.
        parent="" if meta.name == "root" else spec.parent or "",
        weight=1 if spec.weight is None else spec.weight,
        priority=spec.priority or 0,
        reclaimable=spec.reclaimable is not False,
        state=status.state or "Open",
        deserved=queue_resources("deserved", spec.deserved, devices),
        guarantee=queue_resources(
            "guarantee", spec.guarantee.resource if spec.guarantee else None, devices
        ),
        limit=queue_resources("capability", spec.capability, devices, unlimited=True),
        labels=meta.labels,
        annotations=meta.annotations,
        affinity=pool.part("queue affinity", spec.affinity, _QUEUE_AFFINITY, EMPTY),
        device_limits=devices,
        created=meta.created,
    )


def queue_resources(
    field: str,
    listed: Object | None,
    devices: dict[str, Object],
    *,
    unlimited: bool = False,
) -> Resource | None:
    """One resource list of a queue; device classes are put into ``devices`` as they are.

    ``unlimited``: cpu and memory that are missing or zero are unlimited.
    """
    if listed is None:
        return None
    resources: Object = {}
    try:
        for name, value in listed.items():
            if _DEVICE_CLASS in name:
                amount(name, value)
                devices.setdefault(field, {})[name] = value
            else:
                resources[name] = value
        read = Resource.from_list(resources)
    except ValueError as error:
        raise MalformedError(f"spec.{field}.{error}") from None
    if unlimited:
        read.cpu, read.memory = read.cpu or UNLIMITED, read.memory or UNLIMITED
    return read


def automatic_queue(name: str, **facts: Any) -> Queue:
    """A queue that Volcano creates at its start if it is missing."""
    return Queue(name=name, family="volcano", weight=1, **facts)


class NetworkTopologyWire(Struct, rename="camel", gc=False):
    mode: Literal["hard", "soft", ""] | None = None
    highest_tier_allowed: Count | None = None
    highest_tier_name: str | None = None


class SubGroupPolicyWire(Struct, rename="camel", gc=False):
    name: str
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None
    sub_group_size: Count | None = None
    min_sub_groups: Count | None = None
    network_topology: NetworkTopologyWire | None = None


class GroupSpec(Struct, rename="camel", gc=False):
    queue: str | None = None
    min_member: Count | None = None
    min_task_member: dict[str, Count] | None = None
    min_resources: Object | None = None
    priority_class_name: str | None = None
    network_topology: NetworkTopologyWire | None = None
    sub_group_policy: list[SubGroupPolicyWire] | None = None


class GroupStatus(Struct, gc=False):
    phase: str | None = None
    conditions: list[Condition] | None = None


_GROUP = ObjectDecoder(GroupSpec, GroupStatus)


def read_group(raw: Raw, pool: Pool) -> PodGroup:
    """The facts of a Volcano pod group; the caller fills in an empty queue.

    ``quota_min_resources`` has every name of minResources, also those that are not resources of
    a node (``requests.cpu``), because quotas are compared by name.
    """
    meta, spec, status = _GROUP.parts(raw, pool)
    name, namespace = meta.name, meta.namespace or "default"
    listed = spec.min_resources
    group = PodGroup(
        uid=f"{namespace}/{name}",
        name=name,
        namespace=namespace,
        family="volcano",
        api_group=VOLCANO_API,
        queue=spec.queue or "",
        min_member=spec.min_member or 0,
        min_task_member=spec.min_task_member or EMPTY,
        min_resources=None if listed is None else pool.resource_list("spec.minResources", listed),
        priority_class=spec.priority_class_name or "",
        labels=meta.labels,
        annotations=meta.annotations,
        created=meta.created,
        phase=status.phase or "",
        conditions=read_conditions(status.conditions),
        network_topology=_network_topology(spec.network_topology),
        sub_group_policies=[_sub_group_policy(policy) for policy in spec.sub_group_policy or ()]
        or (),
    )
    if listed:
        group.quota_min_resources = {n: amount(n, value) for n, value in listed.items()}
    return group


def _network_topology(wire: NetworkTopologyWire | None) -> NetworkTopology | None:
    if wire is None:
        return None
    return NetworkTopology(
        mode=wire.mode or "",
        highest_tier_allowed=wire.highest_tier_allowed,
        highest_tier_name=wire.highest_tier_name or "",
    )


def _sub_group_policy(wire: SubGroupPolicyWire) -> SubGroupPolicy:
    return SubGroupPolicy(
        name=wire.name,
        label_selector=None if wire.label_selector is None else {**wire.label_selector},
        match_label_keys=tuple(wire.match_label_keys or ()),
        size=wire.sub_group_size,
        min_sub_groups=wire.min_sub_groups,
        network_topology=_network_topology(wire.network_topology),
    )


def read_conditions(conditions: Sequence[Condition] | None) -> Sequence[dict[str, Any]]:
    """The conditions of a status."""
    return [{**condition} for condition in conditions or ()] or ()


class HyperNodeSpec(Struct, rename="camel", gc=False):
    tier: Int32
    tier_name: str | None = None
    members: list[HyperNodeMember] | None = None


class HyperNodeWire(Struct, gc=False):
    metadata: MetadataWire | None = None
    spec: HyperNodeSpec | None = None


_HYPER_NODE = msgspec.json.Decoder(HyperNodeWire)


def read_hypernode(raw: Raw, pool: Pool) -> HyperNode:
    wire = decode(_HYPER_NODE, "", raw)
    meta = read_metadata(wire.metadata, pool)
    if wire.spec is None:
        raise MalformedError("has no spec")
    members = wire.spec.members or ()
    for number, member in enumerate(members):
        _check_pattern(number, member)
    return HyperNode(
        name=meta.name,
        tier=wire.spec.tier,
        tier_name=wire.spec.tier_name or "",
        members=[{**member} for member in members],
        labels=meta.labels,
    )


def _check_pattern(number: int, member: HyperNodeMember) -> None:
    if "regexMatch" in member["selector"]:
        text = member["selector"]["regexMatch"]["pattern"]
        try:
            pattern(text)
        except ValueError as error:
            at = f"spec.members[{number}].selector.regexMatch.pattern"
            raise MalformedError(f"{at}: {text!r} is not a regular expression: {error}") from None
