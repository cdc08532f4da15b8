"""Shapes of the kinds that are stored as they are read, checked so that plugins can rely on them.

A field that is missing or null counts as not stated. Fields that no plugin reads are not checked.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from pumice.manifests.shapes import LabelSelector, NodeSelector
from pumice.manifests.wire import Count, Int32

Quantity = str | int | float
Quantities = dict[str, Quantity]
MAX_LEVELS = 16
"""Levels of a KAI Topology, as its CRD says."""


class _Part(Struct, rename="camel", gc=False):
    """A part of an object; fields that it does not name are allowed."""


class _Phase(_Part):
    phase: str | None = None


# -- storage


class _ClaimResources(_Part):
    requests: Quantities | None = None


class _VolumeClaimSpec(_Part):
    access_modes: list[str] | None = None
    volume_name: str | None = None
    volume_mode: str | None = None
    storage_class_name: str | None = None
    resources: _ClaimResources | None = None
    selector: LabelSelector | None = None


class _VolumeClaim(_Part):
    spec: _VolumeClaimSpec | None = None
    status: _Phase | None = None


class _ClaimRef(_Part):
    namespace: str | None = None
    name: str | None = None
    uid: str | None = None


class _VolumeNodeAffinity(_Part):
    required: NodeSelector | None = None


class _CsiSource(_Part):
    driver: str | None = None
    volume_handle: str | None = None


class _VolumeSpec(_Part):
    access_modes: list[str] | None = None
    capacity: Quantities | None = None
    storage_class_name: str | None = None
    volume_mode: str | None = None
    claim_ref: _ClaimRef | None = None
    node_affinity: _VolumeNodeAffinity | None = None
    csi: _CsiSource | None = None


class _Volume(_Part):
    spec: _VolumeSpec | None = None
    status: _Phase | None = None


class _TopologyRequirement(_Part):
    key: str
    values: list[str] | None = None


class _TopologyTerm(_Part):
    match_label_expressions: list[_TopologyRequirement] | None = None


class _StorageClass(_Part):
    provisioner: str | None = None
    volume_binding_mode: str | None = None
    allowed_topologies: list[_TopologyTerm] | None = None


class _VolumeLimit(_Part):
    count: Count | None = None


class _CsiNodeDriver(_Part):
    name: str
    allocatable: _VolumeLimit | None = None


class _CsiNodeSpec(_Part):
    drivers: list[_CsiNodeDriver] | None = None


class _CsiNode(_Part):
    spec: _CsiNodeSpec | None = None


class _CsiDriverSpec(_Part):
    storage_capacity: bool | None = None


class _CsiDriver(_Part):
    spec: _CsiDriverSpec | None = None


class _StorageCapacity(_Part):
    storage_class_name: str | None = None
    capacity: Quantity | None = None
    maximum_volume_size: Quantity | None = None
    node_topology: LabelSelector | None = None


# -- devices


class _Cel(_Part):
    expression: str | None = None


class _DeviceSelector(_Part):
    cel: _Cel | None = None


class _ExactRequest(_Part):
    name: str | None = None
    device_class_name: str | None = None
    selectors: list[_DeviceSelector] | None = None
    allocation_mode: str | None = None
    count: Count | None = None
    admin_access: bool | None = None


class _Request(_ExactRequest):
    exactly: _ExactRequest | None = None
    first_available: list[_ExactRequest] | None = None


class _DeviceConstraint(_Part):
    match_attribute: str | None = None
    requests: list[str] | None = None


class _ClaimDevices(_Part):
    requests: list[_Request] | None = None
    constraints: list[_DeviceConstraint] | None = None


class _ClaimSpec(_Part):
    devices: _ClaimDevices | None = None


class _AllocatedDevice(_Part):
    request: str | None = None
    driver: str | None = None
    pool: str | None = None
    device: str | None = None
    admin_access: bool | None = None


class _AllocatedDevices(_Part):
    results: list[_AllocatedDevice] | None = None


class _Allocation(_Part):
    devices: _AllocatedDevices | None = None
    node_selector: NodeSelector | None = None


class _Consumer(_Part):
    resource: str | None = None
    name: str | None = None
    uid: str | None = None


class _ClaimStatus(_Part):
    allocation: _Allocation | None = None
    reserved_for: list[_Consumer] | None = None


class _ResourceClaim(_Part):
    spec: _ClaimSpec | None = None
    status: _ClaimStatus | None = None


class _TemplateSpec(_Part):
    spec: _ClaimSpec | None = None


class _ResourceClaimTemplate(_Part):
    spec: _TemplateSpec | None = None


class _DeviceClassSpec(_Part):
    selectors: list[_DeviceSelector] | None = None


class _DeviceClass(_Part):
    spec: _DeviceClassSpec | None = None


class _Attribute(_Part):
    string: str | None = None
    number: int | None = msgspec.field(default=None, name="int")
    flag: bool | None = msgspec.field(default=None, name="bool")
    version: str | None = None


class _DeviceContent(_Part):
    attributes: dict[str, _Attribute] | None = None
    capacity: dict[str, Any] | None = None


class _Device(_DeviceContent):
    name: str | None = None
    basic: _DeviceContent | None = None
    node_name: str | None = None
    all_nodes: bool | None = None
    node_selector: NodeSelector | None = None


class _Pool(_Part):
    name: str | None = None
    generation: int | None = None


class _SliceSpec(_Part):
    driver: str | None = None
    pool: _Pool | None = None
    node_name: str | None = None
    all_nodes: bool | None = None
    per_device_node_selection: bool | None = None
    node_selector: NodeSelector | None = None
    devices: list[_Device] | None = None


class _ResourceSlice(_Part):
    spec: _SliceSpec | None = None


# -- kinds of the schedulers


class _Level(_Part):
    node_label: str


class _TopologySpec(_Part):
    levels: Annotated[list[_Level], Meta(max_length=MAX_LEVELS)] = []


class _Topology(_Part):
    spec: _TopologySpec


class _NumaResource(_Part):
    allocatable: str | None = None
    capacity: int | None = None


class _Cpu(_Part):
    numa: int | None = None
    socket: int | None = None
    core: int | None = None


class _NumaSpec(_Part):
    policies: dict[str, str] | None = None
    numares: dict[str, _NumaResource] | None = None
    cpu_detail: dict[str, _Cpu] | None = None
    res_reserved: dict[str, Quantity] | None = None


class _Numatopology(_Part):
    spec: _NumaSpec | None = None


class _ShardStatus(_Part):
    nodes_in_use: list[str] | None = None


class _NodeShard(_Part):
    status: _ShardStatus | None = None


class _BindSpec(_Part):
    selected_node: str | None = None
    backoff_limit: Int32 | None = None
    selected_gpu_groups: list[str] | None = msgspec.field(default=None, name="selectedGPUGroups")


class _BindStatus(_Part):
    phase: str | None = None
    failed_attempts: Int32 | None = None


class _BindRequest(_Part):
    spec: _BindSpec | None = None
    status: _BindStatus | None = None


class _Anything(Struct, gc=False):
    """Kinds of which only the metadata is read."""


_SHAPES: dict[str, type[Struct]] = {
    "PersistentVolumeClaim": _VolumeClaim,
    "PersistentVolume": _Volume,
    "StorageClass": _StorageClass,
    "CSINode": _CsiNode,
    "CSIDriver": _CsiDriver,
    "CSIStorageCapacity": _StorageCapacity,
    "ResourceClaim": _ResourceClaim,
    "ResourceClaimTemplate": _ResourceClaimTemplate,
    "DeviceClass": _DeviceClass,
    "ResourceSlice": _ResourceSlice,
    "Topology": _Topology,
    "Numatopology": _Numatopology,
    "NodeShard": _NodeShard,
    "BindRequest": _BindRequest,
}
_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(shape) for kind, shape in _SHAPES.items()
}
_OTHERS: msgspec.json.Decoder[Any] = msgspec.json.Decoder(_Anything)


def shape_of(kind: str) -> msgspec.json.Decoder[Any]:
    """The decoder that checks objects of a stored kind."""
    return _DECODERS.get(kind, _OTHERS)
