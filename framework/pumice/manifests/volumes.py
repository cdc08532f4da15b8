"""Volumes of a pod."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Raw

from pumice.manifests.pool import Pool
from pumice.manifests.shapes import ClaimVolume, ConfigMapRef, Ephemeral, Projected, checked
from pumice.manifests.wire import ANY_OBJECT, Object, decode

_NAME = msgspec.json.Decoder(str)
_SOURCES = {
    kind: checked(shape, f"spec.volumes[].{kind}")
    for kind, shape in {
        "persistentVolumeClaim": ClaimVolume,
        "ephemeral": Ephemeral,
        "configMap": ConfigMapRef,
        "projected": Projected,
    }.items()
}


def read_volumes(volumes: Sequence[dict[str, Raw]], pool: Pool) -> Sequence[Object]:
    """Every volume as it is read, the sources shared between pods.

    A projected volume loses its name: the one that every pod gets for its token is random, and
    pods that differ in it alone ask for the same.
    """
    return [_volume(volume, pool) for volume in volumes]


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
