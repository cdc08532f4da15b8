"""Pods of both families."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Raw

from pumice.manifests.containers import (
    NO_CONTAINERS,
    ContainerSet,
    HostPort,
    container_set,
    host_ports,
)
from pumice.manifests.metadata import ObjectDecoder, time_at
from pumice.manifests.pod_wire import ConditionWire, SchedulingGroup, SpecWire, StatusWire
from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.requests import Family, effective_request
from pumice.manifests.shapes import Affinity, Toleration, TopologySpreadConstraint, checked
from pumice.manifests.volumes import read_volumes
from pumice.manifests.wire import Object, decode
from pumice.model.facts import Pod
from pumice.model.resources import Resource

VOLCANO_GROUP = "scheduling.k8s.io/group-name"
"""The annotation that names a Volcano pod's group."""
KAI_GROUP = "pod-group-name"
"""The annotation that names a KAI pod's group."""
QUEUE_GATE = "scheduling.volcano.sh/queue-allocation-gate"
"""Volcano's scheduling gate, and the annotation by which a pod asks for it: its queue admits it."""

_POD = ObjectDecoder(SpecWire, StatusWire)
_SELECTOR = checked(dict[str, str], "spec.nodeSelector")
_AFFINITY = checked(Affinity, "spec.affinity")
_TOLERATIONS = checked(list[Toleration], "spec.tolerations")
_SPREAD = checked(list[TopologySpreadConstraint], "spec.topologySpreadConstraints")

_CONDITIONS = msgspec.json.Decoder(list[ConditionWire])
_NO_CONDITIONS: Sequence[Object] = ()
_STARTED = time_at("status.startTime")


def read_pod(raw: Raw, pool: Pool, family: Family | None = None) -> Pod:
    """The facts of a pod; without ``family`` its annotations decide whose rules apply.

    The ``group`` of a KAI pod is the bare name: its namespace is known once all groups are read.
    """
    meta, spec, status = _POD.parts(raw, pool)
    node_name = sys.intern(spec.node_name or "")
    spec.node_name = None  # what is left is equal for pods of one controller
    parts = pool.repeated("pod spec", spec, _spec_parts)
    name, namespace = meta.name, sys.intern(meta.namespace or "default")
    annotations = meta.annotations
    family = family or family_of(annotations)
    state = pool.repeated("pod status", status, _status_parts)
    main, init = parts.main, parts.init
    request = None if state.has_container_resources else parts.request
    if request is None:
        request = effective_request(family, spec, status, state.conditions, main, init, pool)
    # By position and in the order of the fields: with keywords the call takes three times as long.
    return Pod(
        meta.uid or f"{namespace}-{name}",
        name,
        namespace,
        request,
        meta.labels,
        annotations,
        meta.created,
        meta.deleted,
        meta.owner,
        parts.scheduler_name,
        _group(family, namespace, annotations, spec.scheduling_group),
        state.phase,
        node_name,
        state.nominated_node,
        state.start_time,
        state.conditions,
        *parts.constraints,
        _claims(spec, status) if spec.resource_claims else (),
        main.containers,
        init.containers,
        state.qos,
    )


class _Constraints(NamedTuple):
    """Where and before whom the pod may be placed: fields of a pod, in their order."""

    priority: int | None
    priority_class: str
    preemption_policy: str
    gates: tuple[str, ...]
    node_selector: Mapping[str, str]
    affinity: Object
    tolerations: Sequence[Object]
    topology_spread: Sequence[Object]
    host_ports: tuple[HostPort, ...]
    volumes: Sequence[Object]


class _SpecParts(NamedTuple):
    """What depends on the spec alone, and not on the node."""

    main: ContainerSet
    init: ContainerSet
    request: Resource | None
    """The request by the rules of either family, where both give that of the containers."""
    scheduler_name: str
    constraints: _Constraints


def _spec_parts(spec: SpecWire, pool: Pool) -> _SpecParts:
    main = container_set("spec.containers", spec.containers, pool)
    init = container_set("spec.initContainers", spec.init_containers, pool)
    simple = init is NO_CONTAINERS and not spec.resources and not len(spec.overhead)
    constraints = _Constraints(
        priority=spec.priority,
        priority_class=sys.intern(spec.priority_class_name or ""),
        preemption_policy=sys.intern(spec.preemption_policy or ""),
        gates=tuple([g.name for g in spec.scheduling_gates]) if spec.scheduling_gates else (),
        node_selector=pool.part("selector", spec.node_selector, _SELECTOR, EMPTY),
        affinity=pool.part("affinity", spec.affinity, _AFFINITY, EMPTY),
        tolerations=pool.part("tolerations", spec.tolerations, _TOLERATIONS, ()),
        topology_spread=pool.part("spread", spec.topology_spread_constraints, _SPREAD, ()),
        host_ports=_host_ports(main, init),
        volumes=read_volumes(spec.volumes, pool),
    )
    request = main.alone if simple else None
    return _SpecParts(main, init, request, sys.intern(spec.scheduler_name or ""), constraints)


class _StatusParts(NamedTuple):
    phase: str
    nominated_node: str
    start_time: float | None
    conditions: Sequence[Object]
    qos: str
    has_container_resources: bool


def _status_parts(status: StatusWire, pool: Pool) -> _StatusParts:
    return _StatusParts(
        phase=sys.intern(status.phase or "Pending"),
        nominated_node=status.nominated_node_name or "",
        start_time=pool.part("started", status.start_time, _STARTED, None),
        conditions=pool.part("conditions", status.conditions, _conditions, _NO_CONDITIONS),
        qos=sys.intern(status.qos_class or ""),
        has_container_resources=status.has_container_resources(),
    )


def family_of(annotations: Mapping[str, str]) -> Family:
    """KAI if only KAI's annotation names a group, else Volcano."""
    kai = annotations.get(KAI_GROUP) and not annotations.get(VOLCANO_GROUP)
    return "kai" if kai else "volcano"


def _group(
    family: Family,
    namespace: str,
    annotations: Mapping[str, str],
    native: SchedulingGroup | None,
) -> str:
    if family == "kai":
        return annotations.get(KAI_GROUP, "")
    name = annotations.get(VOLCANO_GROUP) or (native.pod_group_name if native else None)
    return sys.intern(f"{namespace}/{name}") if name else ""


def _conditions(text: bytes) -> Sequence[Object]:
    conditions = decode(_CONDITIONS, "status.conditions", text)
    return [_condition(condition) for condition in conditions]


def _condition(wire: ConditionWire) -> Object:
    condition = {"type": sys.intern(wire.type), "status": sys.intern(wire.status or "")}
    if wire.reason:
        condition["reason"] = sys.intern(wire.reason)
    if wire.last_transition_time:
        condition["lastTransitionTime"] = wire.last_transition_time
    return condition


def _host_ports(main: ContainerSet, init: ContainerSet) -> tuple[HostPort, ...]:
    if not init.host_ports:
        return main.host_ports
    return main.host_ports + host_ports([c for c in init.containers if c.restart_always])


def _claims(spec: SpecWire, status: StatusWire) -> Sequence[Object]:
    """The resource claims, with the names of those that were created from a template."""
    created = {
        claim.name: claim.resource_claim_name for claim in status.resource_claim_statuses or ()
    }
    claims: list[Object] = []
    for claim in spec.resource_claims or ():
        name = claim.get("resourceClaimName") or created.get(claim["name"])
        claims.append({**claim, "resourceClaimName": name} if name else {**claim})
    return claims
