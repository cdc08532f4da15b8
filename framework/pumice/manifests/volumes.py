"""Volumes of a pod."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from pumice.manifests.pool import Pool
from pumice.manifests.shapes import (
    ConfigMapRef,
    EphemeralSource,
    PersistentVolumeClaimSource,
    ProjectedSource,
    checked,
)
from pumice.manifests.wire import ANY_OBJECT, Object, decode

_VOLUMES = msgspec.json.Decoder(list[dict[str, Raw]])
_NAME = msgspec.json.Decoder(str)
_SOURCES = {
    kind: checked(shape, f"spec.volumes[].{kind}")
    for kind, shape in {
        "persistentVolumeClaim": PersistentVolumeClaimSource,
        "ephemeral": EphemeralSource,
        "configMap": ConfigMapRef,
        "projected": ProjectedSource,
    }.items()
}


def read_volumes(raw: Raw, pool: Pool) -> Sequence[Object]:
    """Every volume as it is, the sources shared between pods.

    Projected volumes lose their names: the token volume of each pod has a random one, and pods
    that differ only in it have the same requirements.
    """

    def build(text: bytes) -> Sequence[Object]:
        volumes = decode(_VOLUMES, "spec.volumes", text)
        return [_volume(volume, pool) for volume in volumes]

    return pool.part("volumes", raw, build, ())


def _volume(volume: dict[str, Raw], pool: Pool) -> Object:
    result: Object = {}
    for key, raw in volume.items():
        if key != "name":
            result[key] = pool.part(key, raw, _source(key), {})
        elif "projected" not in volume:
            result[key] = decode(_NAME, "spec.volumes[].name", raw)
    return result


def _source(kind: str) -> partial[Any]:
    return _SOURCES.get(kind) or partial(decode, ANY_OBJECT, f"spec.volumes[].{kind}")
