"""Nodes."""

from __future__ import annotations

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.metadata import ObjectDecoder
from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.shapes import ContainerImage, Taint, checked
from pumice.manifests.wire import Object, decode
from pumice.model.facts import Node
from pumice.model.quantity import PODS


class SpecWire(Struct, gc=False):
    taints: Raw = Raw()
    unschedulable: bool | None = None


class ConditionWire(Struct, gc=False):
    type: str
    status: str = ""


class StatusWire(Struct, gc=False):
    allocatable: Raw = Raw()
    capacity: Raw = Raw()
    conditions: list[ConditionWire] | None = None
    images: list[Raw] | None = None


_NODE = ObjectDecoder(SpecWire, StatusWire)
_TAINTS = checked(list[Taint], "spec.taints")
_IMAGE = msgspec.json.Decoder(ContainerImage)


def read_node(raw: Raw, pool: Pool) -> Node:
    """The facts of a node; without ``allocatable`` its whole capacity is allocatable."""
    meta, spec, status = _NODE.parts(raw, pool)
    capacity = pool.resources("status.capacity", status.capacity)
    allocatable = pool.resources("status.allocatable", status.allocatable)
    if bytes(status.allocatable) in (b"", b"null"):
        allocatable = capacity
    return Node(
        name=meta.name,
        allocatable=allocatable,
        capacity=capacity,
        max_pods=int(allocatable.get(PODS)),
        labels=meta.labels,
        annotations=meta.annotations,
        taints=pool.part("taints", spec.taints, _TAINTS, ()),
        unschedulable=bool(spec.unschedulable),
        conditions={c.type: c.status for c in status.conditions or ()} or EMPTY,
        images=[pool.part("image", image, _image, EMPTY) for image in status.images or ()] or (),
        created=meta.created,
    )


def _image(text: bytes) -> Object:
    image = decode(_IMAGE, "status.images[]", text)
    return {"names": image.get("names") or [], "sizeBytes": image.get("sizeBytes", 0)}
