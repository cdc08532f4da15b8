"""The metadata of every kind, and the decoder of objects with a spec and a status."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Generic, TypeVar

import msgspec
from msgspec import Raw, Struct

from pumice.manifests.pool import EMPTY, Pool
from pumice.manifests.wire import MalformedError, decode

Spec = TypeVar("Spec")
Status = TypeVar("Status")


class Metadata(Struct, gc=False):
    """What is read of an object's metadata; equal parts are shared."""

    name: str
    uid: str | None
    owner: str
    """Uid of the controller, else of the first owner; its kind and name where it has no uid."""
    namespace: str | None
    """None where it has none."""
    labels: dict[str, str]
    annotations: dict[str, str]
    created: float
    """Epoch seconds; 0.0: not stated."""
    deleted: float | None


class OwnerWire(Struct, gc=False):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None


class MetadataWire(Struct, rename="camel", gc=False):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: Raw = Raw()
    annotations: Raw = Raw()
    creation_timestamp: Raw = Raw()
    deletion_timestamp: Raw = Raw()
    owner_references: list[OwnerWire] | None = None


_STRINGS = msgspec.json.Decoder(dict[str, str])
_LABELS = partial(decode, _STRINGS, "metadata.labels")
_ANNOTATIONS = partial(decode, _STRINGS, "metadata.annotations")
_TIME = msgspec.json.Decoder(datetime)


def read_metadata(wire: MetadataWire | None, pool: Pool) -> Metadata:
    """The metadata of an object.

    :raises MalformedError: it has no name, or a part has the wrong type.
    """
    if wire is None or not wire.name:
        raise MalformedError("has no metadata.name")
    name, uid, owners = wire.name, wire.uid, wire.owner_references
    # What is left is equal for pods of one controller.
    wire.name = wire.uid = wire.owner_references = None
    shared = pool.repeated("metadata", wire, _shared)
    return Metadata(name, uid, _owner(owners) if owners else "", *shared)


_Shared = tuple[str | None, dict[str, str], dict[str, str], float, float | None]


def _shared(wire: MetadataWire, pool: Pool) -> _Shared:
    part = pool.part
    return (
        wire.namespace,
        part("labels", wire.labels, _LABELS, EMPTY),
        part("annotations", wire.annotations, _ANNOTATIONS, EMPTY),
        part("created", wire.creation_timestamp, _created, 0.0),
        part("deleted", wire.deletion_timestamp, _deleted, None),
    )


def time_at(path: str) -> Callable[[bytes], float]:
    """A decoder of times that gives epoch seconds."""
    return lambda text: epoch(decode(_TIME, path, text))


_created = time_at("metadata.creationTimestamp")
_deleted = time_at("metadata.deletionTimestamp")


def _owner(owners: Sequence[OwnerWire]) -> str:
    owner = owners[0]
    for other in owners:
        if other.controller:
            owner = other
            break
    return owner.uid or f"{owner.kind}/{owner.name}"


def epoch(time: datetime) -> float:
    """Seconds since 1970; a time without a zone is UTC."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


class _ObjectWire(Struct, Generic[Spec, Status], gc=False):
    metadata: MetadataWire | None = None
    spec: Spec | None = None
    status: Status | None = None


class Unread(Struct, gc=False):
    """A spec or status of which nothing is read."""


class ObjectDecoder(Generic[Spec, Status]):
    """Decodes the objects of one kind; a spec or status that is missing or null is an empty one.

    :class:`Unread` is the type of a part that is not read.
    """

    def __init__(self, spec: type[Spec], status: type[Status]) -> None:
        self._spec = spec
        self._status = status
        self._decoder: msgspec.json.Decoder[_ObjectWire[Spec, Status]] = msgspec.json.Decoder(
            _ObjectWire[spec, status]  # type: ignore[valid-type]
        )

    def parts(self, raw: Raw, pool: Pool) -> tuple[Metadata, Spec, Status]:
        """Metadata, spec and status of an object."""
        wire = decode(self._decoder, "", raw)
        return (
            read_metadata(wire.metadata, pool),
            wire.spec or self._spec(),
            wire.status or self._status(),
        )
