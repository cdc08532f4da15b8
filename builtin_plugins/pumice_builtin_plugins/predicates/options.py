"""Options of the predicates plugin, under Volcano's names."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pumice import Plugin

_ACCEPTED = "accepted for Volcano's files, without effect:"


class FilterOptions(Plugin.Options):
    """Which of the filters are on."""

    node_affinity: bool = Field(
        True,
        alias="predicate.NodeAffinityEnable",
        description="apply node selectors and required node affinity",
    )
    ports: bool = Field(
        True, alias="predicate.NodePortsEnable", description="no host port is used twice"
    )
    taints: bool = Field(
        True,
        alias="predicate.TaintTolerationEnable",
        description="reject nodes with taints that the pod does not tolerate",
    )
    node_health: bool = Field(
        False,
        alias="nodeHealth",
        description="reject nodes whose conditions are bad (Ready is not True, or there is memory,"
        " disk or PID pressure), as KAI does; Kubernetes taints such nodes, and Volcano looks at"
        " the taints only",
    )
    pod_affinity: bool = Field(
        True,
        alias="predicate.PodAffinityEnable",
        description="apply required pod affinity and anti-affinity",
    )
    volume_limits: bool = Field(
        True,
        alias="predicate.NodeVolumeLimitsEnable",
        description="a node attaches no more CSI volumes than its driver allows",
    )
    volume_zone: bool = Field(
        True,
        alias="predicate.VolumeZoneEnable",
        description="pods go to the zone of their bound volumes",
    )
    spread: bool = Field(
        True,
        alias="predicate.PodTopologySpreadEnable",
        description="apply topology spread constraints with DoNotSchedule",
    )
    volume_binding: bool = Field(
        True,
        alias="predicate.VolumeBindingEnable",
        description="pods go where their volumes are or can be bound or provisioned",
    )
    devices: bool = Field(
        True,
        alias="predicate.DynamicResourceAllocationEnable",
        description="pods go where the devices of their resource claims can be allocated",
    )
    cache: bool = Field(
        False,
        alias="predicate.CacheEnable",
        description=f"{_ACCEPTED} verdicts are always cached",
    )
    volume_weight: int = Field(
        1,
        alias="volumebinding.weight",
        description=f"{_ACCEPTED} scoring by free storage is off in kube-scheduler, too",
    )
    volume_shape: list[dict[str, Any]] = Field(
        [],
        alias="volumebinding.shape",
        description=f"{_ACCEPTED} scoring by free storage is off in kube-scheduler, too",
    )
    bind_timeout: int = Field(
        600,
        alias="volumebinding.bindTimeoutSeconds",
        description=f"{_ACCEPTED} a bind does not wait for its volumes",
    )
    device_timeout: int = Field(
        10,
        alias="dynamicresources.filterTimeoutSeconds",
        description=f"{_ACCEPTED} the search for devices is bounded by steps",
    )
