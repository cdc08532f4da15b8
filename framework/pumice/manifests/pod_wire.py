"""The fields of a pod that scheduling reads, as they are in JSON."""

from __future__ import annotations

from msgspec import Raw, Struct

from pumice.manifests.containers import ContainerWire, ResourcesWire
from pumice.manifests.shapes import PodResourceClaim
from pumice.manifests.wire import Int32


class Gate(Struct, gc=False):
    name: str


class SchedulingGroup(Struct, rename="camel", gc=False):
    pod_group_name: str | None = None


class SpecWire(Struct, rename="camel", gc=False):
    containers: list[ContainerWire] | None = None
    init_containers: list[ContainerWire] | None = None
    overhead: Raw = Raw()
    resources: ResourcesWire | None = None
    node_name: str | None = None
    scheduler_name: str | None = None
    priority: Int32 | None = None
    priority_class_name: str | None = None
    preemption_policy: str | None = None
    scheduling_gates: list[Gate] | None = None
    node_selector: Raw = Raw()
    affinity: Raw = Raw()
    tolerations: Raw = Raw()
    topology_spread_constraints: Raw = Raw()
    volumes: Raw = Raw()
    resource_claims: list[PodResourceClaim] | None = None
    scheduling_group: SchedulingGroup | None = None


class ConditionWire(Struct, rename="camel", gc=False):
    type: str
    status: str | None = None
    reason: str | None = None
    last_transition_time: str | None = None


class ContainerStatus(Struct, rename="camel", gc=False):
    name: str = ""
    allocated_resources: Raw = Raw()
    resources: ResourcesWire | None = None


class ClaimStatus(Struct, rename="camel", gc=False):
    name: str
    resource_claim_name: str | None = None


class StatusWire(Struct, rename="camel", gc=False):
    phase: str | None = None
    nominated_node_name: str | None = None
    start_time: Raw = Raw()
    qos_class: str | None = None
    resize: str | None = None
    conditions: Raw = Raw()
    container_statuses: list[ContainerStatus] | None = None
    init_container_statuses: list[ContainerStatus] | None = None
    resource_claim_statuses: list[ClaimStatus] | None = None

    def has_container_resources(self) -> bool:
        """Whether it has resources of containers, which differ from the spec in a resize."""
        for container in self.container_statuses or ():
            if container.resources or len(container.allocated_resources):
                return True
        return False
